/** The report of a rule in shadow [rules §1.6]. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ReportedRun, shadowReport } from './shadow-report.ts';

const at = (ms: number): string => new Date(Date.UTC(2026, 5, 1) + ms).toISOString();
const run = (ms: number, value: number | null, path: readonly string[] = ['s', 'a', 'e']): ReportedRun => ({
  started_at: at(ms),
  execution_path: path,
  actions_executed:
    value === null
      ? []
      : [{ node_id: 'a', instance: 4, point_type: 'action', point: 1, value, written: value, success: true }],
});

test('[rules §1.6] runs of one moment are compared by actuator and by node', () => {
  const report = shadowReport(
    [run(0, 1), run(1000, 2), run(2000, null, ['s', 'e'])],
    [run(40, 1), run(960, 3), run(2010, 1)],
    100,
  );
  expect(report).toEqual({
    compared: 3,
    equal: 1,
    differences: [
      { at: at(1000), actuators: [{ instance: 4, point: 1, shadow: 2, live: 3 }], nodes: [] },
      { at: at(2000), actuators: [{ instance: 4, point: 1, shadow: null, live: 1 }], nodes: ['a'] },
    ],
  });
});

test('[rules §1.6] a write that a limit changed is compared by the requested value', () => {
  const limited = (ms: number, value: number): ReportedRun => {
    const asked = run(ms, value);
    const [action] = asked.actions_executed;
    return { ...asked, actions_executed: action === undefined ? [] : [{ ...action, written: 1, reason: 'limited' }] };
  };
  const report = shadowReport(
    [run(0, 5), run(1000, 5), run(2000, 1)],
    [limited(0, 5), limited(1000, 7), limited(2000, 7)],
    100,
  );
  expect(report).toEqual({
    compared: 3,
    equal: 2,
    differences: [{ at: at(1000), actuators: [{ instance: 4, point: 1, shadow: 5, live: 1 }], nodes: [] }],
  });
});

test('[rules §1.6] runs pair up to the tolerance, each once', () => {
  expect(shadowReport([run(0, 1)], [run(100, 1)], 100).compared).toBe(1);
  expect(shadowReport([run(0, 1)], [run(101, 1)], 100).compared).toBe(0);
  expect(shadowReport([run(0, 1), run(10, 1)], [run(5, 1)], 100).compared).toBe(1);
  expect(shadowReport([], [run(5, 1)], 100)).toEqual({ compared: 0, equal: 0, differences: [] });
});

test('[rules §1.6] on one grid the report equals a recount', () => {
  const values = fc.array(
    fc.record({
      shadow: fc.integer({ min: 0, max: 2 }),
      live: fc.integer({ min: 0, max: 2 }),
      late: fc.integer({ min: -40, max: 40 }),
    }),
  );
  fc.assert(
    fc.property(values, (drawn) => {
      const shadow = drawn.map((each, index) => run(index * 1000, each.shadow));
      const live = drawn.map((each, index) => run(index * 1000 + each.late, each.live));
      const { compared, equal, differences } = shadowReport(shadow, live, 100);
      const recount = drawn.filter((each) => each.shadow === each.live).length;
      expect([compared, equal, differences.length]).toEqual([drawn.length, recount, drawn.length - recount]);
    }),
  );
});
