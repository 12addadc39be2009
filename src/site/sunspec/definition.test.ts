/** Model definitions that a site brings [points §3.4]: what is taken of a file, where its points are, and what is refused. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { curves, group, modelDefinition, modules, point } from '../../testing/sunspec-definition.ts';
import { groupDepthMaximum, readModelDefinition } from './definition.ts';
import { countPoints, declaredPoint, modelLength, placedPoints } from './layout.ts';

const read = (definition: unknown) => readModelDefinition(JSON.stringify(definition, null, 1), 'sunspec/model.json');

function faultsOf(definition: unknown): string[] {
  try {
    read(definition);
  } catch (error) {
    return (error instanceof Error ? error.message : '').split('\n').map((line) => line.replace(/^[^ ]+ /, ''));
  }
  return [];
}

describe('[points §3.4] a model with groups in groups', () => {
  const model = read(curves);
  const counts = { NCrv: 2, NPt: 3 };
  const eachCurve = 2 + 1 + 3 * 3;
  const placed = new Map(placedPoints(model, { length: 12 + 2 * eachCurve, counts }).map((each) => [each.name, each]));

  test('its points go by the path of their groups', () => {
    expect(modelLength(model, counts, 0)).toBe(12 + 2 * eachCurve);
    expect(countPoints(model).map(({ name }) => name)).toEqual(['NPt', 'NCrv']);
    const second = 12 + eachCurve;
    expect(placed.get('Crv[2].ActPt')).toMatchObject({ offset: second, scaleOffset: undefined });
    expect(placed.get('Crv[2].Trip.Late')).toMatchObject({ offset: second + 2, scaleOffset: second + 1, unit: 's' });
    expect(placed.get('Crv[2].Pt[3].V')).toMatchObject({ offset: second + 3 + 6, scaleOffset: 3, unit: 'V' });
    expect(placed.get('Crv[2].Pt[3].Tms')).toMatchObject({ offset: second + 3 + 7, scaleOffset: second + 1 });
    expect(placed.get('Total')).toMatchObject({ offset: 4, type: 'int64', exponent: -2 });
    expect([...placed.keys()]).not.toContain('Crv[3].ActPt');
  });

  test('a site may name a point with any indices, but no unknown point', () => {
    expect(declaredPoint(model, 'Crv[7].Pt[40].V')).toMatchObject({ writable: true, unit: 'V' });
    expect(declaredPoint(model, 'Total')).toMatchObject({ writable: false });
    for (const name of ['Crv.Pt[1].V', 'Pt[1].V', 'V', 'Crv[1].Trip[1].Late', 'Id64'])
      expect(declaredPoint(model, name), name).toBeUndefined();
  });

  test.each([
    [12 + eachCurve, 'Crv[1].Pt[3].Tms', 'Crv[2].ActPt'],
    [12 + eachCurve - 1, 'Crv[1].Pt[3].V', 'Crv[1].Pt[3].Tms'],
    [12, 'Id64', 'Crv[1].ActPt'],
    [11, 'Total', 'Id64'],
  ])('of %d registers only what is within them is there', (length, last, beyond) => {
    const names = placedPoints(model, { length, counts }).map(({ name }) => name);
    expect(names.at(-1)).toBe(last);
    expect(names).not.toContain(beyond);
  });
});

test('[points §3.4] the only part that repeats gives its points their number', () => {
  const model = read(modules);
  const names = (length: number) => placedPoints(model, { length, counts: {} }).map(({ name }) => name);
  expect(names(6)).toEqual(['StrIdx', 'V_SF', 'ModV[1]', 'Pad1[1]', 'ModV[2]', 'Pad1[2]']);
  expect(names(7)).toEqual(names(6));
  expect(modelLength(model, {}, 12)).toBe(2 + 12 * 2);
});

describe('[points §3.4] for any groups of a model', () => {
  const types = [
    ['uint16', 1],
    ['int32', 2],
    ['string', 5],
    ['uint64', 4],
  ] as const;
  const points = fc
    .array(fc.constantFrom(...types), { minLength: 1, maxLength: 4 })
    .map((chosen) => chosen.map(([type, size], at) => point(`P${at}`, type, size)));
  const counts = fc.record({ N0: fc.nat(3), N1: fc.nat(3) });
  const groups = (depth: number): fc.Arbitrary<ReturnType<typeof group>[]> =>
    fc
      .array(
        fc.tuple(
          points,
          fc.constantFrom<(string | number)[]>(1, 2, 'N0', 'N1'),
          depth === 1 ? fc.constant([]) : groups(depth - 1),
        ),
        { maxLength: 2 },
      )
      .map((list) => list.map(([own, count, inner], at) => group(`G${at}`, own, { count, groups: inner })));
  const counted = [point('N0', 'count', 1), point('N1', 'count', 1)];

  test('every register belongs to one point, every name to one place, and a site may use each of them', () => {
    fc.assert(
      fc.property(points, groups(groupDepthMaximum), counts, (own, inner, times) => {
        const model = read(modelDefinition(7, [...counted, ...own], inner));
        const length = modelLength(model, times, 0);
        const placed = placedPoints(model, { length, counts: times });
        let next = 0;
        for (const each of placed) {
          expect(each.offset).toBe(next);
          next += each.length;
          expect(declaredPoint(model, each.name)).toMatchObject({ type: each.type, length: each.length });
        }
        expect(next).toBe(length);
        expect(new Set(placed.map(({ name }) => name)).size).toBe(placed.length);
      }),
    );
  });
});

describe('[points §3.4] a definition is refused', () => {
  const [a, b] = [point('A', 'uint16', 1), point('B', 'uint16', 1)];
  const nested = (depth: number): ReturnType<typeof group> =>
    group('g', [a], depth === 1 ? {} : { groups: [nested(depth - 1)] });

  test.each<[string, unknown, string]>([
    ['without a number', { group: group('x', []) }, 'must have "id"'],
    ['without its head', { id: 7, group: group('x', [a, b]) }, '/group/points must begin with ID and L'],
    [
      'a type that is not known',
      modelDefinition(7, [point('A', 'uint24', 1)]),
      '/group/points/2/type unknown type uint24',
    ],
    [
      'a size that no such type has',
      modelDefinition(7, [point('A', 'int32', 1)]),
      '/group/points/2/size must be 2 for int32',
    ],
    ['more registers than one request reads', modelDefinition(7, [point('A', 'string', 126)]), '/group/points/2/size '],
    ['a name twice', modelDefinition(7, [a, a]), '/group/points/3/name A occurs twice'],
    [
      'a scale that is not there',
      modelDefinition(7, [{ ...a, sf: 'A_SF' }]),
      '/group/points/2/sf neither this group nor an enclosing one has a sunssf point A_SF',
    ],
    ['a power of ten out of range', modelDefinition(7, [{ ...a, sf: 11 }]), '/group/points/2/sf '],
    [
      'a count that is not there',
      modelDefinition(7, [a], [group('g', [b], { count: 'N' })]),
      '/group/groups/0/count the model itself has no point N of one register',
    ],
    [
      'what fits before another group',
      modelDefinition(7, [a], [group('g', [b], { count: 0 }), group('h', [b])]),
      '/group/groups/0/count 0 (as many as fit) is allowed only for the last group',
    ],
    [
      'what fits in a group that repeats',
      modelDefinition(7, [a], [group('g', [b], { count: 2, groups: [group('h', [b], { count: 0 })] })]),
      '/group/groups/0/groups/0/count 0 (as many as fit) is allowed only for the last group',
    ],
    [
      'a group without anything',
      modelDefinition(7, [a], [group('g', [])]),
      '/group/groups/0 has neither points nor groups',
    ],
    [
      'a group twice',
      modelDefinition(7, [a], [group('g', [b]), group('g', [b])]),
      '/group/groups/1/name the group g occurs twice',
    ],
    ['an invalid group', modelDefinition(7, [a], [{ name: 'g' }]), '/group/groups/0'],
    [
      'one group too deep',
      modelDefinition(7, [a], [nested(groupDepthMaximum + 1)]),
      '/group/groups/0/groups/0/groups/0/groups groups are nested more than 3 deep',
    ],
  ])('%s', (_, definition, reason) => {
    expect(faultsOf(definition)).toEqual([expect.stringContaining(reason)]);
  });

  test('each error with its line; values at the limits are accepted', () => {
    expect(() => read(modelDefinition(7, [point('A', 'int32', 1), point('B', 'float64', 2)]))).toThrow(
      /^sunspec\/model\.json:\d+: [^\n]*\nsunspec\/model\.json:\d+: [^\n]*$/,
    );
    expect(
      faultsOf(
        modelDefinition(7, [point('A', 'string', 125), { ...a, name: 'C', sf: -10 }], [nested(groupDepthMaximum)]),
      ),
    ).toEqual([]);
    expect(() => readModelDefinition('{"id": 7,', 'x.json')).toThrow(/^x\.json:1: /);
  });
});
