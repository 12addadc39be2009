/** Changes to the text of site.yaml [points §1.1]: comments and what was there stay, and the result is what was added. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseYaml } from '../base/yaml.ts';
import { readSite } from './site.ts';
import { freeInstanceId, newSiteText, withDevice, withPoints } from './site-edit.ts';

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

  test('whatever points are added, each is where its row says', () => {
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
