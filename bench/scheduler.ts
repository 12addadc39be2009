/** The due decision of a tick with 10 000 enabled rules of one second, against its limit of 10 ms (p99). */
import type { ScheduledRule } from '../src/rules/scheduled-rule.ts';
import { createScheduler } from '../src/rules/scheduler.ts';
import { createSnapshot } from '../src/site/snapshot.ts';
import { sizes } from './fixture/sizes.ts';

const { rules: ruleCount, ticks } = sizes({ rules: 10_000, ticks: 1200 }, { rules: 100, ticks: 20 });
const limitMs = 10;

const trigger = { type: 'interval', interval_ms: 1000 } as const;
const rules = Array.from(
  { length: ruleCount },
  (_, index): ScheduledRule => ({
    id: index + 1,
    priority: index % 7,
    enabled: true,
    runnable: true,
    cooldown_ms: 0,
    trigger,
    triggerText: JSON.stringify(trigger),
    points: [],
  }),
);
const scheduler = createScheduler({ event_min_interval_ms: 20 });
scheduler.change(rules, []);
const snapshot = createSnapshot(1);
const times: number[] = [];
let due = 0;
for (let tick = 0; tick < ticks; tick++) {
  const nowMs = tick * 100;
  snapshot.monotonicMs = nowMs;
  const began = process.hrtime.bigint();
  const list = scheduler.due(snapshot, 'tick', nowMs);
  times.push(Number(process.hrtime.bigint() - began) / 1e6);
  due += list.length;
  for (const { ruleId, dueAtMs } of list)
    scheduler.finished(ruleId, { scheduled: true, acted: false, snapshot, dueAtMs, endedMs: dueAtMs });
}
times.sort((a, b) => a - b);
const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
console.log(`${ruleCount} rules, ${ticks} ticks, ${due} runs due`);
console.log(
  `due decision p50 ${at(0.5).toFixed(3)} ms, p99 ${at(0.99).toFixed(3)} ms = ${(at(0.99) / limitMs).toFixed(3)} of the limit (aim < 1)`,
);
