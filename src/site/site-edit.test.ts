/** Changes to the text of site.yaml [points §1.1]: comments and what was there stay, and the result is what was added. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseYaml } from '../base/yaml.ts';
import { readSite } from './site.ts';
import { freeInstanceId, newSiteText, textDifference, withDevice, withPoints } from './site-edit.ts';

const begun = newSiteText({ id: 'bakery', name: 'Bakery', timezone: 'Europe/Amsterdam' });

describe('[points §1.1] a site file that grows', () => {
  test('a new one is a site without points', () => {
    expect(readSite(begun, 'site.yaml')).toMatchObject({ id: 'bakery', points: [], channels: [] });
  });

  test('comments stay, lists in brackets grow, and the next free number is found', () => {
    const text = begun.replace('instances: []', 'instances: [{ id: 2, name: old, points: [] }] # the first one');
    expect(freeInstanceId(text)).toBe(1);
    const edited = withDevice(text, { id: 1, name: 'pv', template: 't', parameters: { host: '10.0.0.1' } });
    expect(edited).toContain('# the first one');
    expect(parseYaml(edited, 'site.yaml').value).toMatchObject({
      instances: [
        { id: 2, name: 'old' },
        { id: 1, name: 'pv', template: 't', parameters: { host: '10.0.0.1' } },
      ],
    });
  });

  test('[points §1.3] existing text is preserved byte for byte; lines are only added, after the last of the list', () => {
    const text = [
      'schema: svc.site.v1 # ours',
      'site:   { id: s, name: S,   timezone: UTC }',
      'channels: [{ id: c, driver: virtual }]',
      'instances:',
      '- id: 1',
      '  name: one',
      '  points:',
      '      - { id: 1, name: a, kind: measurement,   unit: m, channel: c }   # the first',
      '',
      '      # and the second',
      '      - { id: 2, name: b, kind: measurement, unit: m, channel: c } # b',
      '# two',
      '- { id: 2, name: two, points: [] }',
      'limits: []',
      '',
    ].join('\n');
    const point = { id: 3, name: 'c: #', kind: 'measurement', unit: 'm', channel: 'c' };
    const added = withPoints(text, [{ row: 1, instance: 1, instanceName: null, point }]).text;
    expect(textDifference(text, added)).toEqual({
      line: 12,
      removed: [],
      added: [
        '      - id: 3',
        '        name: "c: #"',
        '        kind: measurement',
        '        unit: m',
        '        channel: c',
      ],
    });
    const instance = withPoints(text, [{ row: 1, instance: 7, instanceName: 'seven', point }]).text;
    expect(textDifference(text, instance)).toMatchObject({
      line: 14,
      removed: [],
      added: { 0: '- id: 7', 1: '  name: seven', 2: '  points:' },
    });
    expect(readSite(instance, 'site.yaml').points).toHaveLength(3);
    for (const crlf of [text.replaceAll('\n', '\r\n'), text.trimEnd().split('\n').slice(0, 11).join('\n')])
      expect(
        readSite(withPoints(crlf, [{ row: 1, instance: 1, instanceName: null, point }]).text, 'site.yaml').points,
      ).toHaveLength(3);
  });

  test('rows that give an instance another name than it has are named', () => {
    const row = (line: number, instance: number, instanceName: string | null) => ({
      row: line,
      instance,
      instanceName,
      point: { id: line, name: 'p' },
    });
    const begunWith = begun.replace('instances: []', 'instances: [{ id: 3, name: here }]');
    const { misnamed, text } = withPoints(begunWith, [
      row(2, 3, 'here'),
      row(3, 3, null),
      row(4, 3, 'there'),
      row(5, 8, null),
      row(6, 8, 'new'),
      row(7, 8, 'newer'),
    ]);
    expect(misnamed).toEqual([
      { row: 4, reason: 'instance 3 is named here, not there' },
      { row: 7, reason: 'instance 8 is named new, not newer' },
    ]);
    expect(text).toContain('name: new\n');
    expect(withPoints(begunWith, [row(2, 9, null)]).text).toContain('name: instance 9\n');
  });

  test('any added points are where their rows say', () => {
    const row = fc.record({ instance: fc.integer({ min: 1, max: 4 }), name: fc.string({ minLength: 1 }) });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 12 }), (rows) => {
        const text = begun.replace('instances: []', 'instances: [{ id: 3, name: here, points: [{ id: 99 }] }]');
        const imported = rows.map(({ instance, name }, at) => ({
          row: at + 2,
          instance,
          instanceName: `i${instance}`,
          point: { id: at, name },
        }));
        const { text: edited, rowOf } = withPoints(text, imported);
        const { instances } = parseYaml(edited, 'site.yaml').value as {
          readonly instances: readonly {
            readonly id: number;
            readonly points: readonly { readonly id: number; readonly name?: string }[];
          }[];
        };
        const found = instances.flatMap(({ id, points }, instance) =>
          points.map((point, place) => ({ row: rowOf(instance, place), instance: id, id: point.id, name: point.name })),
        );
        const added = found.filter(({ id }) => id !== 99).toSorted((a, b) => a.id - b.id);
        expect(added).toEqual(imported.map(({ row: at, instance, point }) => ({ row: at, instance, ...point })));
        expect(found.filter(({ id }) => id === 99)).toMatchObject([{ instance: 3, row: undefined }]);
      }),
    );
  });
});
