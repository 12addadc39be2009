import { describe, expect, test } from 'vitest';
import { parseFlow } from '../../../src/rules/parse.ts';
import { parseTrigger } from '../../../src/rules/trigger/parse.ts';
import { catalogueSite } from './catalogue-fixture.ts';
import { contentDifference } from './draft-difference.ts';
import type { Content } from './draft-history.ts';
import { readDocument } from './flow-document.ts';
import { checkContent, configPath, problemsAt } from './problems.ts';
import { ruleInWords } from './rule-in-words.ts';
import { visibleNames } from './visible-names.ts';

const site = catalogueSite();
const at = { x: 0, y: 0 };

function content(when: string, trigger: object | null, cooldownMs = 0): Content {
  const flow = readDocument({
    nodes: [
      { id: 'start', type: 'start', position: at, data: { config: { wires: { default: ['read'] } } } },
      {
        id: 'read',
        type: 'input',
        position: at,
        data: {
          label: 'Read',
          config: {
            variables: [{ name: 'soc', instance: 4, point_type: 'measurement', point: 1 }],
            parameters: [{ name: 'lower', parameter: 'soc_lower' }],
            wires: { default: ['decide'] },
          },
        },
      },
      {
        id: 'decide',
        type: 'decision',
        position: at,
        data: { config: { branches: [{ name: 'low', when }], wires: { low: ['act'], else: ['end'] } } },
      },
      {
        id: 'act',
        type: 'action',
        position: at,
        data: { config: { writes: [{ instance: 4, point: 1, value: -20 }], wires: { default: ['end'] } } },
      },
      { id: 'end', type: 'end', position: at },
    ],
  });
  return { name: 'Rule', description: null, priority: 0, cooldown_ms: cooldownMs, trigger_config: trigger, flow };
}

function sentence(subject: Content): string {
  const parsed = parseFlow(subject.flow, site);
  const trigger = subject.trigger_config === null ? null : parseTrigger(subject.trigger_config, site);
  if (!parsed.ok || trigger?.ok === false) throw new Error('the rule does not parse');
  return ruleInWords(subject, trigger?.trigger ?? null, parsed.topology, site);
}

describe('the rule in words', () => {
  const body = 'with soc (battery · soc): if soc < lower, set battery · power_setpoint to -20 kW.';
  test.each([
    [content('soc < lower', { type: 'interval', interval_ms: 500 }), `Every 500 ms, ${body}`],
    [content('soc < lower', null), `Every second, ${body}`],
    [content('soc < lower', null, 60_000), `Every 60 s, ${body}`],
    [
      content('soc < lower', { type: 'interval', interval_ms: 60_000 }, 5000),
      `Every 60 s, ${body} After a write it pauses for 5 s.`,
    ],
    [
      content('soc < lower', {
        type: 'on_change',
        point_refs: [{ instance: 4, point_type: 'measurement', point: 1 }],
        time_deadband_ms: 0,
        value_deadband: { type: 'percent', threshold: 2 },
      }),
      `Whenever battery · soc changes by more than 2 %, ${body}`,
    ],
  ])('%#', (subject, expected) => {
    expect(sentence(subject)).toBe(expected);
  });
});

describe('problems and names', () => {
  test('a wrong expression is found at its field, as the server says it', () => {
    const { problems, topology } = checkContent(content('soc <', null), site);
    expect(topology).toBeNull();
    const [problem] = problemsAt(problems, 'flow', configPath(2, 'branches', 0, 'when'));
    expect(problem).toMatchObject({ severity: 'error', node_id: 'decide', code: 'expression-syntax' });
  });

  test('a name that is not declared, a wrong trigger and a blank name are all told at once', () => {
    const { problems } = checkContent(
      { ...content('charge < 1', { type: 'interval', interval_ms: 0 }), name: ' ' },
      site,
    );
    expect(problems.map(({ part }) => part).toSorted()).toEqual(['flow', 'rule', 'trigger']);
  });

  test('a node sees the declarations of the nodes before it', () => {
    const { flow } = content('soc < lower', null);
    if (flow === null) throw new Error('there is no flow');
    expect(visibleNames(flow, 'decide', site)).toEqual([
      { name: 'lower', source: 'soc_lower', unit: '%' },
      { name: 'soc', source: 'battery · soc', unit: '%', point: { instance: 4, point_type: 'measurement', point: 1 } },
    ]);
    expect(visibleNames(flow, 'read', site)).toEqual([]);
  });
});

describe('changes of a draft', () => {
  test('[rules §1.5] the smallest parts that differ, the affected actuators, and the rule in words', () => {
    const before = content('soc < lower', null);
    const after = { ...content('soc < 30', { type: 'interval', interval_ms: 5 }), priority: 3 };
    const { classes, settings, nodes, actuators, sentence: words } = contentDifference(before, after, site);
    expect(classes).toEqual(['settings', 'expression']);
    expect(settings.map(({ field }) => field)).toEqual(['priority', 'trigger_config']);
    expect(nodes.changed).toMatchObject([
      { id: 'decide', fields: [{ path: '/data/config/branches/0/when', before: 'soc < lower', after: 'soc < 30' }] },
    ]);
    expect(actuators).toEqual([{ instance: 4, point: 1, change: 'condition' }]);
    expect(words).toEqual({ before: sentence(before), after: sentence(after) });
  });

  test('[rules §1.5] a move is not a change of logic; with errors on one side nothing is claimed of wires and actuators', () => {
    const before = content('soc < lower', null);
    const [start, ...others] = before.flow?.nodes ?? [];
    if (start === undefined || before.flow === null) throw new Error('the rule of this test has no flow');
    const moved = { ...before, flow: { ...before.flow, nodes: [{ ...start, position: { x: 1, y: 0 } }, ...others] } };
    expect(contentDifference(before, moved, site).classes).toEqual(['layout']);
    expect(contentDifference(before, before, site).classes).toEqual([]);
    const broken = contentDifference(before, content('soc <', null), site);
    expect([broken.classes, broken.actuators, broken.sentence.after]).toEqual([['expression'], [], null]);
  });
});
