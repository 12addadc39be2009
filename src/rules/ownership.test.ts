/** The ownership history of a point, at its limits [points §7.3]. */
import { describe, expect, test } from 'vitest';
import { contendersMaximum, type Owner, Ownership, turnsPerMinute } from './ownership.ts';

const rule = (id: number): Owner => ({ kind: 'rule', id: String(id), name: '', untilMs: null });
const at = (ms: number) => ({ monotonicMs: ms, wallMs: 1_700_000_000_000 + ms });

describe('[points §7.3] the account', () => {
  test(`rules that take turns share a segment from the ${turnsPerMinute}th change of a minute on`, () => {
    const ownership = new Ownership();
    for (let turn = 0; turn <= turnsPerMinute + 5; turn++) ownership.took(0, rule(turn % 2), turn, at(turn * 100));
    const segments = ownership.segments(0);
    expect(segments).toHaveLength(turnsPerMinute + 1);
    expect(segments.at(-1)).toMatchObject({
      owner: { id: '0' },
      value: turnsPerMinute + 5,
      contenders: [{ id: '1', reason: 'takes-turns' }],
    });
    // A minute later the first turns no longer count.
    ownership.took(0, rule(1), 0, at(60_100));
    expect(ownership.ownerOf(0).id).toBe('1');
  });

  test(`rules take turns from the ${turnsPerMinute - 1}th change of a minute on, for as long as they do, and a minute longer`, () => {
    const ownership = new Ownership();
    const seen: boolean[] = [];
    for (let turn = 0; turn < 200; turn++) {
      ownership.took(3, rule(7 + (turn % 2)), turn, at(turn * 1000));
      seen.push(ownership.takingTurns(at(turn * 1000)).length > 0);
    }
    expect(seen.indexOf(true)).toBe(turnsPerMinute - 1);
    expect(seen.slice(turnsPerMinute - 1)).not.toContain(false);
    expect(ownership.takingTurns(at(199_000))).toEqual([{ pointIndex: 3, ruleIds: expect.any(Array) as number[] }]);
    expect(ownership.takingTurns(at(199_000))[0]?.ruleIds.toSorted()).toEqual([7, 8]);
    expect(ownership.takingTurns(at(199_000 + 60_000))).toEqual([]);
  });

  test('rules that owned the point over a minute ago are not among those that take turns; nothing is while no rule owns it', () => {
    const ownership = new Ownership();
    ownership.took(0, rule(6), 0, at(0));
    for (let turn = 0; turn < turnsPerMinute; turn++) ownership.took(0, rule(7 + (turn % 2)), turn, at(1000 + turn));
    const idsAt = (ms: number) => ownership.takingTurns(at(ms)).map(({ ruleIds }) => ruleIds.toSorted());
    expect(idsAt(60_999)).toEqual([[6, 7, 8]]);
    for (let turn = 0; turn < turnsPerMinute; turn++) ownership.took(0, rule(7 + (turn % 2)), turn, at(61_100 + turn));
    expect(idsAt(61_200)).toEqual([[7, 8]]);
    const override: Owner = { kind: 'override', id: 'o1', name: 'by hand', untilMs: null };
    ownership.took(0, override, 5, at(61_300));
    expect(idsAt(61_300)).toEqual([]);
    ownership.left(0, 'another', at(61_400));
    expect(ownership.ownerOf(0)).toEqual(override);
    ownership.left(0, 'o1', at(61_500));
    expect(ownership.ownerOf(0).kind).toBe('none');
    expect(ownership.valueOf(0)).toBe(5);
  });

  test('a refused writer is handed over once for each of its reasons', () => {
    const ownership = new Ownership();
    const refuse = (reason: string, ms: number): boolean => {
      ownership.takeChanged();
      ownership.refused(0, { ...rule(2), reason, atMs: ms });
      return ownership.hasChanged();
    };
    expect(refuse('outranked', 0)).toBe(false);
    ownership.took(0, rule(1), 1, at(10));
    expect([refuse('outranked', 20), refuse('outranked', 30), refuse('limited', 40)]).toEqual([true, false, true]);
    expect(ownership.contendersOf(0)).toEqual([{ ...rule(2), reason: 'limited', atMs: 40 }]);
  });

  test(`a segment names at most ${contendersMaximum} contenders`, () => {
    const ownership = new Ownership();
    ownership.took(0, rule(99), 1, at(0));
    for (let id = 0; id <= contendersMaximum; id++)
      ownership.refused(0, { ...rule(id), reason: 'outranked', atMs: id });
    expect(ownership.contendersOf(0).map(({ id }) => Number(id))).toEqual(
      Array.from({ length: contendersMaximum }, (_, id) => id),
    );
  });

  test('a wall clock that is set back leaves no segment that ends before it began', () => {
    const ownership = new Ownership();
    ownership.took(0, rule(1), 1, at(0));
    ownership.took(0, rule(2), 2, { monotonicMs: 10, wallMs: 1_600_000_000_000 });
    const [first, second] = ownership.segments(0);
    expect([first?.toMs, second?.fromMs]).toEqual([1_700_000_000_001, 1_700_000_000_001]);
  });

  test('unchanged segments are not handed over again', () => {
    const ownership = new Ownership();
    ownership.took(0, rule(1), 1, at(0));
    expect(ownership.takeChanged()).toHaveLength(1);
    ownership.took(0, rule(1), 1, at(10));
    expect(ownership.hasChanged()).toBe(false);
    ownership.took(0, rule(1), 2, at(20));
    expect(ownership.takeChanged()).toMatchObject([{ segment: { value: 2, toMs: null } }]);
  });
});
