/**
 * A page of 50 audit events in a log of a million against the same page in a log of a thousand, for each filter, for times
 * and for pages in the middle: the ratio must not exceed 1.5. Rounds of both logs take turns; medians.
 * `AUDIT_EVENTS` sets the size of the large log.
 */
import type { Criteria } from '../src/audit/criteria.ts';
import { createAuditSearch } from '../src/audit/search.ts';
import { systemClock } from '../src/base/clock.ts';
import { beginMs, benchScope, emptyLog, fillLog, median } from './fixture/audit-site.ts';

const small = 1000;
const large = Number(process.env['AUDIT_EVENTS'] ?? 1_000_000);
/** Values that are seldom match as often in both logs. */
const seldomMatches = 100;
const rounds = 300;

interface Page {
  readonly name: string;
  readonly of: (events: number) => Partial<Criteria>;
}

const at = (events: number, share: number): string =>
  new Date(beginMs + Math.floor((events * share) / 100) * 100_000).toISOString();
const filters = (value: string) => ({
  action: `automation.rule.${value}`,
  subjectId: `subject-${value}`,
  resourceId: `automation-rule:${value}`,
  resourceKind: `kind-${value}`,
});
const names = ['action', 'subjectId', 'resourceId', 'resourceKind'] as const;
const pages: readonly Page[] = [
  { name: 'no filter', of: () => ({}) },
  { name: 'cursor in the middle', of: (events) => ({ below: BigInt(events / 2) }) },
  { name: 'from', of: (events) => ({ from: at(events, 0.5) }) },
  { name: 'to', of: (events) => ({ to: at(events, 0.5) }) },
  { name: 'from and to', of: (events) => ({ from: at(events, 0.2), to: at(events, 0.5) }) },
  ...names.map((name) => ({ name, of: () => ({ filters: { [name]: filters('two')[name] } }) })),
  ...names.map((name) => ({ name: `${name}, seldom`, of: () => ({ filters: { [name]: filters('seldom')[name] } }) })),
  ...names.map((name) => ({
    name: `${name}, to`,
    of: (events: number) => ({ filters: { [name]: filters('two')[name] }, to: at(events, 0.5) }),
  })),
  { name: 'all four filters', of: () => ({ filters: filters('two') }) },
  { name: 'all four, seldom', of: () => ({ filters: filters('seldom') }) },
];

const logs = [];
for (const events of [small, large]) {
  const log = emptyLog();
  await fillLog(log, events, events / seldomMatches);
  logs.push({ log, events, search: createAuditSearch({ ...log, clock: systemClock, scanWindow: 5000 }) });
}
const none: Criteria = { below: null, limit: 50, from: null, to: null, filters: {} };
const every: number[] = [];
for (const { name, of } of pages) {
  const took = logs.map(() => [] as number[]);
  for (let round = 0; round < rounds; round++)
    for (const [index, { search, events }] of logs.entries()) {
      const begunMs = systemClock.monotonicMs();
      const page = await search.page(benchScope, { ...none, ...of(events) });
      took[index]?.push(systemClock.monotonicMs() - begunMs);
      if (page.items.length !== 50) throw new Error(`${name}: ${page.items.length} items of ${events}`);
    }
  const [smallMs = 0, largeMs = 0] = took.map(median);
  every.push(largeMs / smallMs);
  const ratio = (largeMs / smallMs).toFixed(2);
  console.log(
    `${name.padEnd(24)} ${(smallMs * 1000).toFixed(0).padStart(6)} µs at ${small}, ${(largeMs * 1000).toFixed(0).padStart(6)} µs at ${large}: ratio ${ratio}`,
  );
}
const highest = Math.max(...every);
console.log(`highest ratio ${highest.toFixed(2)} (limit 1.5)`);
if (highest > 1.5) process.exitCode = 1;
for (const { log } of logs) await log.close();
