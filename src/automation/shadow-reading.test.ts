/** Which runs the report of a rule in shadow compares [rules §1.6]. */
import { expect, test } from 'vitest';
import type { CallContext } from '../api/capability.ts';
import { systemClock } from '../base/clock.ts';
import { firstIdAt } from '../base/id.ts';
import { siteCatalogue } from '../site/site-catalogue.ts';
import { engineRule, tankSite } from '../testing/tank-site.ts';
import type { AutomationParts } from './automation-parts.ts';
import { readShadowReport, reportedRunsMax } from './shadow-reading.ts';

const beginMs = Date.UTC(2026, 5, 1);
const idAt = (ms: number): string => `${firstIdAt(beginMs + ms)}-7000-8000-000000000000`;

/** Rules 1 (in shadow) and 2 (live) with this many runs each, one a second. */
function partsOf(runs: number): AutomationParts {
  const history = (ruleId: number) =>
    Array.from({ length: runs }, (_, index) => ({
      execution_id: idAt(index * 1000),
      rule_id: ruleId,
      started_at: new Date(beginMs + index * 1000).toISOString(),
      trigger: { type: index % 2 === 0 || runs > 10 ? 'interval' : 'manual' },
      ...(ruleId === 1 ? { shadow: true } : {}),
      actions_executed: [],
      execution_path: ['s'],
    }));
  const kept = new Map([1, 2].map((id) => [id, history(id).toReversed()]));
  const parts = {
    clock: systemClock,
    catalogue: () => siteCatalogue(tankSite),
    engine: { settle: async () => true, tickIntervalMs: 100 },
    store: { get: async (id: number) => (kept.has(id) ? engineRule(id) : null) },
    runs: {
      page: async (id: number, before: string, limit: number) =>
        (kept.get(id) ?? [])
          .filter(({ execution_id: name }) => name < before)
          .slice(0, limit)
          .map((run) => JSON.stringify(run)),
    },
  };
  return parts as unknown as AutomationParts;
}

const asked = (parts: AutomationParts, id: number, against: number, seconds: number) => {
  const to = new Date(beginMs + seconds * 1000).toISOString();
  const query = { against: String(against), from: new Date(beginMs).toISOString(), to };
  return readShadowReport(parts, { params: { id: String(id) }, query } as unknown as CallContext);
};
const equal = (runs: number) => ({ data: { success: true, data: { compared: runs, equal: runs, differences: [] } } });

test('[rules §1.6] runs within the span, without manual ones, those of the live rule that were live', async () => {
  expect(await asked(partsOf(6), 1, 2, 10)).toEqual(equal(3));
  expect(await asked(partsOf(6), 1, 2, 2)).toEqual(equal(2));
  expect(await asked(partsOf(6), 1, 1, 10)).toEqual(equal(0));
  await expect(asked(partsOf(6), 1, 7, 10)).rejects.toMatchObject({ code: 'not-found' });
  await expect(asked(partsOf(6), 1, 2, -1)).rejects.toMatchObject({ code: 'invalid-input' });
});

test('[rules §2.4] at most 10000 runs of each rule', async () => {
  expect(await asked(partsOf(reportedRunsMax), 1, 2, 20_000)).toEqual(equal(reportedRunsMax));
  await expect(asked(partsOf(reportedRunsMax + 1), 1, 2, 20_000)).rejects.toMatchObject({ code: 'invalid-input' });
});
