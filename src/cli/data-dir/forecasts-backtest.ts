/** Carries out `setpoint forecasts backtest`: configuration, history and processor of the site, an audit record, files and a table. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallAudit } from '../../api/capability.ts';
import type { ForecastOptions } from '../../api/processing.ts';
import type { ScoreGroup, ScoreKind, Scores } from '../../api/processing-results.ts';
import { Fault } from '../../base/fault.ts';
import { silentLog } from '../../base/log.ts';
import { formatTimestamp } from '../../base/timestamp.ts';
import { readBearer } from '../../contract/wire/bearer.ts';
import { historyLimits } from '../../historian/limits.ts';
import { openHistorian } from '../../historian/open-historian.ts';
import type { CommissionedRoute } from '../../processing/commission/commissioned.ts';
import { readConfiguration } from '../../processing/commission/configuration.ts';
import { keptDigestsFile } from '../../processing/commission/kept-digests.ts';
import type { ReasonRule } from '../../processing/frame/reason.ts';
import type { Processor } from '../../processing/processor/processor.ts';
import { reachProcessor } from '../../processing/processor/transport/index.ts';
import { type BacktestQuestion, type BacktestReport, backtest, cutoffsOf } from '../../processing/results/backtest.ts';
import { pointsOf } from '../../processing/results/packed.ts';
import { referenceNames } from '../../processing/results/references.ts';
import type { NewResult } from '../../processing/results/result-store.ts';
import { usualQuantiles } from '../../processing/schedule.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { printTable } from '../table.ts';
import { printable, quantity, showProgress } from '../terminal.ts';
import { type DataDirParts, forPerson, historyPlace, withDatabase } from './data-dir.ts';
import type { BeginActs } from './recorded-act.ts';
import { storeWaitingReadings } from './waiting-readings.ts';

export interface BacktestOptions {
  readonly task: string;
  readonly binding: string;
  readonly from: number;
  readonly to: number;
  readonly every: number;
  readonly horizon?: number;
  readonly quantiles?: readonly number[];
  readonly by: ScoreKind;
  readonly out?: string;
  readonly confirmed?: true;
  readonly json?: true;
}

export async function backtestCommand(parts: DataDirParts, options: BacktestOptions): Promise<void> {
  const route = routeOf(parts, options);
  const cutoffs = cutoffsIn(route, options);
  if (route.processor.boundary === 'remote' && options.confirmed !== true)
    throw new CommandError(
      `this would send recorded history to the processor ${route.processor.id}, off this site. Nothing was done; give --confirmed to do it`,
      exitCodes.notConfirmed,
    );
  const { horizon = route.task.frame.horizon_steps, quantiles = usualQuantiles(route.task) } = options;
  const asked: ForecastOptions = {
    kind: 'forecast',
    horizon_steps: horizon,
    ...(quantiles.length > 0 && { quantiles: [...quantiles] }),
  };
  const out = options.out === undefined ? null : new BacktestFiles(options.out, route);
  const report = await withDatabase(parts, ({ begin }) =>
    recorded(parts, options, { route, cutoffs, options: asked, by: options.by }, out, begin),
  );
  const scores = scoresOf(route, options, report);
  out?.end(report, scores);
  if (options.json === true) parts.terminal.out(`${JSON.stringify(scores)}\n`);
  else if (scores.groups.length > 0) print(parts, scores);
  tellRefused(parts, cutoffs.length, report);
}

function countsByCode({ refused }: BacktestReport): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { code, count } of refused) counts[code] = (counts[code] ?? 0) + count;
  return counts;
}

/** Beside the scores, because they are of the other calls only. Throws a CommandError if there are none. */
function tellRefused({ terminal }: DataDirParts, calls: number, { refused }: BacktestReport): void {
  if (refused.length === 0) return;
  const lines = refused.map(
    ({ reason, count, firstMs }) =>
      `${count} of ${quantity(calls, 'call')} had no result, the first at ${formatTimestamp(firstMs)}: ${reason}`,
  );
  if (refused.some(({ reason }) => reason.includes('history_unavailable' satisfies ReasonRule)))
    lines.push(
      'a call sees only rows that had been ingested at its time; import older history with --ingested-at-event-time',
    );
  const none = refused.reduce((sum, { count }) => sum + count, 0) === calls;
  if (none) throw new CommandError(lines.join('\n'));
  for (const line of lines) terminal.error(`setpoint: ${printable(line)}\n`);
}

function cutoffsIn(route: CommissionedRoute, { from: fromMs, to: toMs, every }: BacktestOptions): readonly number[] {
  try {
    return cutoffsOf(route, { fromMs, toMs, everyMs: every * 1000 });
  } catch (error) {
    throw error instanceof Fault ? new CommandError(error.message, exitCodes.notConfirmed) : error;
  }
}

function routeOf(parts: DataDirParts, { task, binding }: BacktestOptions): CommissionedRoute {
  const { configDir, dataDir } = parts.settings();
  const kept = keptDigestsFile(join(dataDir, 'processing-task-digests.json'));
  // A service stores the digests; this command only compares the declarations with them.
  const found = forPerson(() =>
    readConfiguration(join(configDir, 'processing'), dataDir, parts.site(configDir), {
      ...kept,
      write: () => undefined,
    }),
  );
  if (!found.ok) throw new CommandError(found.lines.map((line) => `processing/${line}`).join('\n'));
  const route = found.routes.find((each) => each.task.id === task && each.binding.id === binding);
  if (route === undefined)
    throw new CommandError(`no route for the task ${task} and the binding ${binding} is commissioned`);
  if (found.upstreamHistory !== null)
    throw new CommandError('the history store is external and does not know the ingestion times');
  return route;
}

function processorOf({ processor }: CommissionedRoute, { clock, settings }: DataDirParts): Processor {
  const bearer = readBearer(processor.bearer_token_env, processor.boundary, settings().env);
  if (!bearer.ok) throw new CommandError(bearer.reason);
  return reachProcessor(processor, { clock, bearerToken: bearer.token });
}

/** A durable record precedes every call; a second one records the outcome. */
async function recorded(
  parts: DataDirParts,
  options: BacktestOptions,
  question: BacktestQuestion,
  out: BacktestFiles | null,
  begin: BeginActs,
): Promise<BacktestReport> {
  const { route } = question;
  const processor = processorOf(route, parts);
  const act = {
    action: 'data_processing.backtest',
    resource: { kind: 'processing-binding', resourceId: `processing-binding:${route.binding.id}` },
    confirmation: options.confirmed === true ? 'explicit' : 'not-required',
  } as const;
  const about = {
    task: { id: route.task.id, revision: route.task.revision },
    binding: { id: route.binding.id, revision: route.binding.revision },
    processor: { id: processor.id, boundary: route.processor.boundary },
    from: formatTimestamp(options.from),
    to: formatTimestamp(options.to),
    every_seconds: options.every,
    options: question.options,
  };
  const end = await begin([act], about);
  const historian = openHistorian(historyPlace(parts), historyLimits);
  const progress = showProgress(parts.terminal);
  // One record covers the whole act; its frames leave the site under that record.
  const own: CallAudit = { note: () => undefined, record: () => Promise.resolve() };
  try {
    await storeWaitingReadings(parts, historian);
    const report = await backtest(question, {
      processor,
      historian,
      clock: parts.clock,
      log: silentLog,
      audit: own,
      onResult: (result, frame) => out?.add(result, frame),
      onProgress: (done, all) => progress.at(`${done} of ${all} calls`),
    });
    await end('succeeded', { refused: countsByCode(report) });
    return report;
  } catch (error) {
    await end('failed', {});
    throw error instanceof Fault ? new CommandError(error.message) : error;
  } finally {
    progress.end();
    await historian.close();
  }
}

function scoresOf({ task, binding }: CommissionedRoute, { by }: BacktestOptions, report: BacktestReport): Scores {
  return {
    schema: 'svc.data-processing.scores.v1',
    task: task.id,
    binding: binding.id,
    unit: task.output.unit,
    from: formatTimestamp(report.firstMs),
    to: formatTimestamp(report.lastMs + task.frame.cadence_seconds * 1000),
    by,
    groups: [...report.groups],
  };
}

const shown = (value: number | null): string => (value === null ? '–' : String(Number(value.toPrecision(4))));

function print({ terminal }: DataDirParts, { unit, by, groups }: Scores): void {
  const column = (title: string, cell: (group: ScoreGroup) => string | number) =>
    ({ title, cell, align: 'right' }) as const;
  printTable(
    terminal,
    [
      ...(by === 'none' ? [] : [column(by.toUpperCase(), ({ key }) => String(key))]),
      column('POINTS', ({ n }) => n),
      column(`MAE [${unit}]`, ({ mae }) => shown(mae)),
      column('BIAS', ({ bias }) => shown(bias)),
      column('PINBALL', ({ pinball }) => shown(pinball)),
      column(
        'COVERAGE',
        ({ coverage }) => Object.entries(coverage).map(([band, share]) => `${band}: ${shown(share)}`)[0] ?? '–',
      ),
      column('SKILL LAST', ({ skill }) => shown(skill.persistence)),
      column('SKILL DAY', ({ skill }) => shown(skill.same_time_yesterday)),
      column('SKILL WEEK', ({ skill }) => shown(skill.same_time_last_week)),
      column('PRODUCED', ({ produced }) => produced),
      column('FALLBACK', ({ fallback }) => fallback),
      column('UNAVAILABLE', ({ unavailable }) => unavailable),
    ],
    groups,
  );
}

/**
 * The files from which every figure can be recomputed: `frames.jsonl`, `results.jsonl` (one line per call, numbers as
 * answered), `actuals.jsonl` and `scores.json`.
 */
class BacktestFiles {
  readonly #folder: string;
  readonly #cadenceMs: number;

  constructor(folder: string, { task }: CommissionedRoute) {
    this.#folder = folder;
    this.#cadenceMs = task.frame.cadence_seconds * 1000;
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new CommandError(`${folder} is not empty`, exitCodes.notConfirmed);
    mkdirSync(folder, { recursive: true });
  }

  add(result: NewResult, frame: object): void {
    const { outcome, inputDigest, asOfMs, firstMs, steps, probabilities } = result;
    const labels = Array.from({ length: steps }, (_, step) => formatTimestamp(firstMs + step * this.#cadenceMs));
    const about = { as_of: formatTimestamp(asOfMs), status: outcome.status, input_digest: inputDigest };
    const line =
      outcome.status === 'unavailable'
        ? { ...about, reason_code: outcome.reasonCode }
        : {
            ...about,
            points: pointsOf(outcome.numbers, probabilities, labels),
            references: Object.fromEntries(
              referenceNames.map((name, index) => [name, Array.from(outcome.numbers.references[index] ?? [])]),
            ),
          };
    this.#append('results.jsonl', line);
    this.#append('frames.jsonl', { input_digest: inputDigest, frame });
  }

  end({ firstMs, lastMs, actualAt }: BacktestReport, scores: Scores): void {
    for (let ms = firstMs; ms <= lastMs; ms += this.#cadenceMs) {
      const value = actualAt(ms);
      this.#append('actuals.jsonl', { timestamp: formatTimestamp(ms), value: Number.isNaN(value) ? null : value });
    }
    writeFileSync(join(this.#folder, 'scores.json'), `${JSON.stringify(scores, null, 2)}\n`);
  }

  #append(file: string, line: object): void {
    appendFileSync(join(this.#folder, file), `${JSON.stringify(line)}\n`);
  }
}
