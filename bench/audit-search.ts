/**
 * A page of 50 audit events in a log of a million against the same page in a log of a thousand, for each filter, for times
 * and for pages in the middle: the ratio must not exceed 1.5. Rounds of both logs take turns; medians.
 * `events=N` sets the size of the large log.
 */
import { createAuditSearch } from '../src/audit/search.ts';
import { systemClock } from '../src/base/clock.ts';
import { auditPages, noCriteria, seldomMatches } from './fixture/audit-pages.ts';
import { benchEntry, benchScope, emptyLog, fillLog, median } from './fixture/audit-site.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const small = 1000;
const { events: large, rounds } = sizes({ events: 1_000_000, rounds: 300 }, { events: 5000, rounds: 3 });

const logs = [];
for (const events of [small, large]) {
  const log = emptyLog();
  await fillLog(log, events, (index) => benchEntry(index, events / seldomMatches));
  logs.push({ log, events, search: createAuditSearch({ ...log, clock: systemClock, scanWindow: 5000 }) });
}
const every: number[] = [];
for (const { name, of } of auditPages) {
  const took = logs.map(() => [] as number[]);
  for (let round = 0; round < rounds; round++)
    for (const [index, { search, events }] of logs.entries()) {
      const begunMs = systemClock.monotonicMs();
      const page = await search.page(benchScope, { ...noCriteria, ...of(events) });
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
if (highest > 1.5) limitMissed();
for (const { log } of logs) await log.close();
