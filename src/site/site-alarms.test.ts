import { describe, expect, test } from 'vitest';
import { readSite } from './site.ts';
import { alarmsMaximum, builtInAlarms } from './site-alarms.ts';

const withAlarms = (alarms: string): string => `schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels: [{ id: line, driver: virtual }]
instances:
  - { id: 1, name: tank, points: [{ id: 1, name: level, kind: measurement, unit: "%", channel: line }, { id: 1, name: pump, kind: action, unit: kW, channel: line }] }
alarms: ${alarms}
`;
const read = (alarms: string) => readSite(withAlarms(alarms), 'site.yaml').alarms;
const fault = (alarms: string): string => {
  try {
    read(alarms);
  } catch (error) {
    return String(error);
  }
  return 'no fault';
};
const point = 'point: { instance: 1, point: 1 }';

describe('[alarms §1] alarms of a site file', () => {
  test('a threshold with its defaults', () => {
    expect(read(`[{ id: high, name: High, ${point}, above: 90, priority: low }]`)).toEqual([
      {
        id: 'high',
        name: 'High',
        point: { instance: 1, point_type: 'measurement', point: 1 },
        index: 0,
        threshold: { kind: 'above', value: 90, deadband: 0 },
        delayMs: 0,
        priority: 'low',
        message: null,
      },
    ]);
    const action = 'point: { instance: 1, point_type: action, point: 1 }';
    expect(
      read(`[{ id: on, name: On, ${action}, equals: 1, deadband: 0.5, delay_ms: 86400000, priority: low }]`),
    ).toMatchObject([{ index: 1, threshold: { kind: 'equals', value: 1, deadband: 0.5 }, delayMs: 86_400_000 }]);
    expect(read('[]')).toEqual([]);
  });

  test('invalid alarms are refused with their lines', () => {
    const one = (member: string): string => fault(`[{ id: a, name: A, ${point}, priority: low, ${member} }]`);
    expect(fault(`[{ id: a, name: A, ${point}, priority: low }]`)).toContain('give one of above, below and equals');
    expect(one('above: 1, below: 2')).toContain('give one of above, below and equals');
    expect(one('above: 1, delay_ms: 86400001')).toContain('delay_ms');
    expect(one('above: 1, deadband: -1')).toContain('deadband');
    expect(fault(`[{ id: a, name: A, point: { instance: 1, point: 9 }, above: 1, priority: low }]`)).toContain(
      'unknown measurement point 9 of instance 1',
    );
    const twice = `{ id: a, name: A, ${point}, above: 1, priority: low }`;
    expect(fault(`[${twice}, ${twice}]`)).toContain('duplicate alarm a');
    for (const id of [...builtInAlarms, 'channel-offline:line'])
      expect(fault(`[{ id: "${id}", name: A, ${point}, above: 1, priority: low }]`)).toContain('built-in');
  });

  test('`alarmsMaximum`, at its edge', () => {
    const many = (count: number): string =>
      `[${Array.from({ length: count }, (_, at) => `{ id: a${at}, name: A, ${point}, above: 1, priority: low }`).join(', ')}]`;
    expect(read(many(alarmsMaximum))).toHaveLength(alarmsMaximum);
    expect(fault(many(alarmsMaximum + 1))).toContain('alarms');
  });
});
