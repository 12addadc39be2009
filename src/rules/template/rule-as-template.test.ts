/** Any rule as a template [rules §13.2]. */
import { describe, expect, test } from 'vitest';
import { siteCatalogue } from '../../site/site-catalogue.ts';
import { tankSite } from '../../testing/tank-site.ts';
import { ruleAsTemplate, type TemplateSource } from './rule-as-template.ts';
import { instantiate } from './template.ts';

const place = { x: 0, y: 0 };
const level = { instance: 1, point_type: 'measurement', point: 1 } as const;
const trend = { instance: 1, point_type: 'measurement', point: 2 } as const;
const valve = { instance: 1, point_type: 'action', point: 2 } as const;
const flow_json = {
  nodes: [
    { id: 's', type: 'start', position: place, data: { config: { wires: { default: ['i'] } } } },
    {
      id: 'i',
      type: 'input',
      position: place,
      data: { config: { variables: [{ name: 'x', ...level }], wires: { default: ['c'] } } },
    },
    {
      id: 'c',
      type: 'calculation',
      position: place,
      data: {
        config: {
          assignments: [
            { name: 'limit', expression: '10' },
            { name: 'double', expression: '2 * x' },
          ],
          wires: { default: ['a'] },
        },
      },
    },
    {
      id: 'a',
      type: 'action',
      position: place,
      data: { config: { writes: [{ instance: 1, point: 1, value: 'limit' }], wires: { default: ['e'] } } },
    },
    { id: 'e', type: 'end', position: place },
  ],
  edges: [],
};
const source: TemplateSource = {
  id: 7,
  revision: 3,
  name: 'Fill',
  description: 'fills',
  priority: 2,
  cooldown_ms: 5,
  trigger_config: { type: 'on_change', point_refs: [level] },
  flow_json,
  names: {},
  tests: [{ name: 'one', given: [{ ...level, value: 1 }], then: { writes: [{ instance: 1, point: 1, value: 10 }] } }],
};
const template = ruleAsTemplate(source, siteCatalogue(tankSite));

describe('[rules §13.2] a rule as a template', () => {
  test('has its points and its plain numbers as parameters', () => {
    expect(template.name).toBe('rule:7');
    expect(template.version).toBe(3);
    expect(template.points).toEqual([
      { name: 'x', about: 'level', point_type: 'measurement', unit: 'm' },
      { name: 'pump', about: 'pump', point_type: 'action', unit: 'kW' },
    ]);
    expect(template.numbers).toEqual([{ name: 'limit', about: '', unit: null, min: null, max: null, default: 10 }]);
  });

  test('a rule that was made from a template keeps the names of its parameters', () => {
    const pump = { instance: 1, point_type: 'action', point: 1 } as const;
    const named = ruleAsTemplate({ ...source, names: { filling: pump } }, siteCatalogue(tankSite));
    expect(named.points.map(({ name }) => name)).toEqual(['x', 'filling']);
  });

  test('with its own arguments makes the same rule', () => {
    const pump = { instance: 1, point_type: 'action', point: 1 } as const;
    const made = instantiate(template, { x: level, pump }, {});
    expect(made).toMatchObject({
      description: 'fills',
      priority: 2,
      cooldown_ms: 5,
      trigger_config: source.trigger_config,
    });
    expect(made.flow_json).toEqual({
      ...flow_json,
      from_template: { template: 'rule:7', version: 3, points: { x: level, pump }, numbers: { limit: 10 } },
    });
    expect(made.tests).toEqual(source.tests);
  });

  test('other points and numbers stand wherever the old ones stood: flow, trigger and tests', () => {
    const made = instantiate(template, { x: trend, pump: valve }, { limit: 25 });
    const text = JSON.stringify({ ...made, flow_json: { ...made.flow_json, from_template: null } });
    expect(text).not.toContain('"instance":1,"point_type":"measurement","point":1');
    expect(made.trigger_config).toEqual({ type: 'on_change', point_refs: [trend] });
    expect(made.tests[0]?.given).toEqual([{ ...trend, value: 1 }]);
    expect(made.tests[0]?.then.writes).toEqual([{ instance: 1, point: 2, value: 10 }]);
    expect(text).toContain('{"name":"limit","expression":"25"}');
    expect(text).toContain('{"name":"double","expression":"2 * x"}');
    expect(text).toContain('{"instance":1,"point":2,"value":"limit"}');
  });
});
