/** Points and rules in Home Assistant [points §3.5]. */
import { describe, expect, test } from 'vitest';
import type { TableSample } from '../points/sample.ts';
import { quality } from '../site/quality.ts';
import { readSite } from '../site/site.ts';
import { discoveryMessages, stateMessages } from './home-assistant.ts';

const site = readSite(
  `schema: svc.site.v1
site: { id: plant.1, name: Plant, timezone: UTC }
channels: [{ id: derived, driver: virtual }, { id: b, driver: mqtt, url: "mqtt://127.0.0.1:1883" }]
instances:
  - id: 4
    name: battery
    points:
      - { id: 1, name: power, kind: measurement, unit: kW, channel: derived }
      - { id: 2, name: energy, kind: measurement, unit: kWh, counter: true, channel: derived }
      - { id: 3, name: mode, kind: measurement, unit: "1", channel: b, address: { topic: m, payload: text } }
      - { id: 1, name: setpoint, kind: action, unit: kW, channel: derived }
`,
  'site.yaml',
);
const rules = [{ id: 7, name: 'Charge at night', state: 'waiting' }];
const sample: TableSample = {
  atMs: 10_000,
  values: [12.5, 100, Number.NaN, 3],
  quality: [quality.good, quality.good, quality.bad, quality.missing],
  agesMs: [5, 5, 5, null],
  online: [true, true],
};

describe('[points §3.5] Home Assistant', () => {
  test('each point and rule is a sensor of its instance, with unit and class, and available while Setpoint is', () => {
    const messages = discoveryMessages(site, rules);
    const config = (object: string): unknown =>
      JSON.parse(messages.get(`homeassistant/sensor/setpoint_plant_1/${object}/config`) ?? 'null');
    expect(messages.size).toBe(5);
    expect(config('4_measurement_1')).toEqual({
      unique_id: 'setpoint_plant.1_4_measurement_1',
      name: 'power',
      unit_of_measurement: 'kW',
      device_class: 'power',
      state_class: 'measurement',
      state_topic: 'setpoint/plant.1/4/measurement/1',
      availability_topic: 'setpoint/plant.1/status',
      device: { identifiers: ['setpoint_plant.1_4'], name: 'battery', manufacturer: 'Setpoint' },
    });
    expect(config('4_measurement_2')).toMatchObject({ device_class: 'energy', state_class: 'total_increasing' });
    expect(config('4_measurement_3')).not.toHaveProperty('state_class');
    expect(config('rule_7')).toMatchObject({ name: 'Charge at night', state_topic: 'setpoint/plant.1/rule/7' });
    for (const text of messages.values()) expect(text).not.toContain('command_topic');
  });

  test('an unusable value is unknown, and text is sent as text', () => {
    expect(Object.fromEntries(stateMessages(site, sample, new Map([[2, 'heating']]), rules))).toEqual({
      'setpoint/plant.1/4/measurement/1': '12.5',
      'setpoint/plant.1/4/measurement/2': '100',
      'setpoint/plant.1/4/measurement/3': 'heating',
      'setpoint/plant.1/4/action/1': 'None',
      'setpoint/plant.1/rule/7': 'waiting',
    });
    expect([...stateMessages(site, null, new Map(), []).values()]).toEqual(['None', 'None', 'None', 'None']);
  });
});
