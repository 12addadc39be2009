/** [points §1.3]: what a changed site file asks of a running service, and that points and channels keep their places. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readSite, type Site } from './site.ts';
import { changedSections, type SiteChange, siteChange } from './site-change.ts';

interface Device {
  readonly id: number;
  /** Numbers of its measurement points; each has an action point of the same number. */
  readonly points: readonly number[];
}

function siteOf(devices: readonly Device[], more = ''): Site {
  const lines = devices.map(({ id }) => `  - { id: c${id}, driver: virtual }`);
  const instances = devices.map(({ id, points }) =>
    [
      `  - id: ${id}\n    name: d${id}\n    points:`,
      ...points.flatMap((point) => [
        `      - { id: ${point}, name: m${point}, kind: measurement, unit: kW, channel: c${id} }`,
        `      - { id: ${point}, name: a${point}, kind: action, unit: kW, channel: c${id} }`,
      ]),
    ].join('\n'),
  );
  const first = devices[0];
  const place = `{ instance: ${first?.id}, point: ${first?.points[0]} }`;
  const limits = `limits:\n  - { target: ${place}, max_from: ${place}, failsafe: { value: 1, after_ms: 5 } }\n`;
  const alarms = `alarms:\n  - { id: high, name: High, priority: low, above: 5, point: ${place} }\n`;
  const head = `schema: svc.site.v1\nsite: { id: s, name: S, timezone: UTC }\n${more}channels:\n${lines.join('\n')}`;
  return readSite(`${head}\ninstances:\n${instances.join('\n')}\n${limits}${alarms}`, 'site.yaml');
}

function changeOf(running: Site, read: Site): SiteChange {
  const found = siteChange(running, read);
  if (!found.ok) throw new Error(found.issues.join('\n'));
  return found.change;
}

const small: readonly Device[] = [
  { id: 1, points: [1, 2] },
  { id: 2, points: [1] },
];

/** Every reference of a site, by name instead of by place. */
function named(site: Site) {
  const name = (index: number): string => {
    const point = site.points[index];
    return `${point?.instance}:${point?.kind}:${point?.id}`;
  };
  return {
    points: site.points.map((point) => [name(point.index), site.channels[point.channel]?.id]).toSorted(),
    limits: site.limits.map(({ targetIndex, max }) => [name(targetIndex), name(max?.from?.index ?? -1)]),
    alarms: site.alarms.map(({ index }) => name(index)),
  };
}

describe('[points §1.3] a changed site file', () => {
  test('known points and channels keep their places wherever the file has them; all references follow', () => {
    const device = fc.record({
      points: fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
    });
    const sites = fc.array(device, { minLength: 1, maxLength: 5 }).chain((before) => {
      const running = before.map(({ points }, at) => ({ id: at + 1, points }));
      const grown = running.map(({ id, points }) =>
        fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }).map((more) => ({
          id,
          points: [...new Set([...more, ...points])],
        })),
      );
      const added = fc
        .array(device, { maxLength: 3 })
        .map((list) => list.map(({ points }, at) => ({ id: 50 + at, points })));
      return fc
        .tuple(fc.constant(running), fc.tuple(fc.tuple(...grown), added))
        .chain(([old, [kept, fresh]]) =>
          fc
            .shuffledSubarray([...kept, ...fresh], { minLength: kept.length + fresh.length })
            .map((read) => ({ old, read })),
        );
    });
    fc.assert(
      fc.property(sites, ({ old, read }) => {
        const [running, inFile] = [siteOf(old), siteOf(read)];
        const { site, points, channels } = changeOf(running, inFile);
        expect(site.points.map(({ index }) => index)).toEqual(site.points.map((_, index) => index));
        running.points.forEach((point) =>
          expect(site.points[point.index]).toMatchObject({
            instance: point.instance,
            kind: point.kind,
            id: point.id,
            channel: point.channel,
          }),
        );
        running.channels.forEach(({ id }, place) => expect(site.channels[place]?.id).toBe(id));
        expect(named(site)).toEqual(named(inFile));
        expect(points.added).toHaveLength(inFile.points.length - running.points.length);
        expect(channels.added).toHaveLength(inFile.channels.length - running.channels.length);
      }),
    );
  });

  test('the same file in another order is not a change', () => {
    const change = changeOf(siteOf(small), siteOf(small.toReversed().map((each) => ({ ...each }))));
    expect(change.points).toEqual({ added: [], changed: [] });
    expect(change.channels).toEqual({ added: [], changed: [] });
    expect(changedSections(changeOf(siteOf(small), siteOf(small)))).toEqual([]);
  });

  test('a channel has changed with any of its points; a point that moves changes both', () => {
    const running = siteOf(small);
    const renamed = {
      ...running,
      points: running.points.map((point) => (point.index === 0 ? { ...point, unit: 'W' } : point)),
    };
    expect(changeOf(running, renamed)).toMatchObject({
      points: { added: [], changed: ['1:measurement:1'] },
      channels: { added: [], changed: ['c1'] },
    });
    const moved = {
      ...running,
      points: running.points.map((point) => (point.index === 0 ? { ...point, channel: 1 } : point)),
    };
    expect(changeOf(running, moved).channels.changed).toEqual(['c1', 'c2']);
  });

  test('removed parts, and sections that are read only at a start, are named; nothing else is reported then', () => {
    const running = siteOf(small);
    const { points, channels } = siteOf([{ id: 1, points: [1] }]);
    expect(
      siteChange(running, { ...running, points, channels, history: { ...running.history, retentionDays: 7 } }),
    ).toEqual({
      ok: false,
      issues: [
        'history has changed: restart the service to apply it',
        'channel c2 was removed: restart the service to apply this, or put it back',
        ...['1:measurement:2', '1:action:2', '2:measurement:1', '2:action:1'].map(
          (name) => `point ${name} was removed: restart the service to apply this, or put it back`,
        ),
      ],
    });
  });
});
