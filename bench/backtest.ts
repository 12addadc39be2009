/**
 * The cost of a backtest [rules §10]: the demo's rules over values that change each second, and over values that change each minute, in
 * processor time of one core, beside the time that 20 rules over 30 days may take on two cores (10 s). `npm run bench backtest days=30`.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { automationLimits } from '../src/automation/limits.ts';
import { deriveColumns } from '../src/automation/rule-document.ts';
import { openRuntimeDatabase } from '../src/automation/store/runtime-database.ts';
import { type BacktestJob, runBacktest } from '../src/backtest/job.ts';
import { ruleBacktestLimits } from '../src/backtest/limits.ts';
import { historyLimits } from '../src/historian/limits.ts';
import { openHistorian } from '../src/historian/open-historian.ts';
import { quality } from '../src/site/quality.ts';
import { readSite } from '../src/site/site.ts';
import { siteCatalogue } from '../src/site/site-catalogue.ts';
import { sizes } from './fixture/sizes.ts';

interface RuleFile {
  readonly rules: readonly {
    readonly name: string;
    readonly priority: number;
    readonly cooldown_ms: number;
    readonly trigger_config: unknown;
    readonly flow_json: unknown;
  }[];
}

const size = sizes({ days: 2 }, { days: 0.02 });
const demo = join(import.meta.dirname, '..', 'config', 'demo');
const site = readSite(readFileSync(join(demo, 'site.yaml'), 'utf8'), 'site.yaml');
const catalogue = siteCatalogue(site);
const rules = readdirSync(join(demo, 'rules')).flatMap(
  (file) => (JSON.parse(readFileSync(join(demo, 'rules', file), 'utf8')) as RuleFile).rules,
);
const fromMs = Date.parse('2026-06-01T00:00:00Z');
const seconds = Math.round(size.days * 86_400);
const toMs = fromMs + seconds * 1000;
/** Rules, days and seconds of the limit, on two cores. */
const asked = { rules: 20, days: 30, coreMs: 20_000 };

/** Stores a value of each recorded point at this interval in seconds. */
async function fill(history: string, everySeconds: number): Promise<void> {
  const historian = openHistorian(history, historyLimits);
  const count = Math.ceil(seconds / everySeconds);
  for (const [index, point] of site.points.entries()) {
    if (!point.record) continue;
    for (let from = 0; from < count; from += 5000) {
      const rows = Array.from({ length: Math.min(5000, count - from) }, (_, step) => {
        const second = (from + step) * everySeconds;
        const eventMs = fromMs + second * 1000;
        // Each swings through its range with its own period.
        const value = 50 + 45 * Math.sin(second / (300 + 40 * index));
        const series = { instance: point.instance, point: point.id };
        return { series, eventMs, ingestedMs: eventMs, value, quality: quality.good };
      });
      await historian.append(rows);
    }
  }
  await historian.close();
}

function jobOf(rule: RuleFile['rules'][number], id: number, history: string, runtime: string): BacktestJob {
  const { flow, trigger } = deriveColumns(rule, catalogue);
  if (flow === undefined || trigger === undefined) throw new Error(`${rule.name} has no flow`);
  const { priority, cooldown_ms } = rule;
  const { nodes_json } = flow;
  const { trigger_config } = trigger;
  return {
    mode: 'recorded',
    plant: null,
    site,
    parameters: site.parameters,
    candidate: { id, revision: 1, enabled: true, mode: 'live', priority, cooldown_ms, trigger_config, nodes_json },
    running: null,
    baseline: null,
    revisions: [1],
    fromMs,
    toMs,
    pointsMax: 10_000,
    limits: { ...ruleBacktestLimits, ...automationLimits },
    historyLimits,
    history,
    runtime,
  };
}

/** Time for 20 rules like this one over 30 days, as a share of the limit. */
async function share(job: BacktestJob, name: string): Promise<number> {
  await runBacktest({ ...job, toMs: fromMs + (toMs - fromMs) / 20 });
  const before = process.cpuUsage();
  const { evaluations } = await runBacktest(job);
  const { user, system } = process.cpuUsage(before);
  const coreMs = (user + system) / 1000;
  const ofAllowed = ((coreMs / size.days) * asked.days * asked.rules) / asked.coreMs;
  console.log(
    `${name}: ${evaluations} evaluations in ${coreMs.toFixed(0)} ms of processor time, ${((1000 * coreMs) / Math.max(1, evaluations)).toFixed(2)} µs each; ` +
      `${asked.rules} such rules over ${asked.days} days would take ${ofAllowed.toFixed(2)} times what is allowed`,
  );
  return ofAllowed;
}

const folder = mkdtempSync(join(tmpdir(), 'bench-backtest-'));
const runtime = join(folder, 'runtime.sqlite');
try {
  await openRuntimeDatabase(runtime).close();
  for (const everySeconds of [1, 60]) {
    const history = join(folder, `history-${everySeconds}.sqlite`);
    await fill(history, everySeconds);
    console.log(`values that change every ${everySeconds} s, ${size.days} days`);
    let sum = 0;
    for (const [index, rule] of rules.entries())
      sum += await share(jobOf(rule, index + 1, history, runtime), `  ${rule.name}`);
    console.log(
      `  ${asked.rules} rules, as many of each: ${(sum / rules.length).toFixed(2)} times what is allowed (limit 1)`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
