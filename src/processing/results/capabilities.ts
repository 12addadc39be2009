/** The handlers for stored results and their scores [data-processing §8]. */
import { isDeepStrictEqual } from 'node:util';
import type { Answer, BoundCapability, CallContext } from '../../api/capability.ts';
import { pagePosition } from '../../api/page.ts';
import { dataProcessing } from '../../api/processing-capabilities.ts';
import {
  type KeptResult,
  type ResultList,
  type ResultQuery,
  type ResultsQuery,
  resultPageSize,
  type Scores,
  type ScoresQuery,
} from '../../api/processing-results.ts';
import type { Clock } from '../../base/clock.ts';
import { deadline, timeIsUp, untilAborted } from '../../base/deadline.ts';
import { Fault } from '../../base/fault.ts';
import { dayMs, formatTimestamp, parseTimestamp } from '../../base/timestamp.ts';
import { createPace, inTurns } from '../../base/turns.ts';
import type { CommissionedRoute } from '../commission/commissioned.ts';
import type { ProcessingLimits } from '../limits.ts';
import type { HistoryAdapter } from '../source/history-adapter.ts';
import { type ActualAt, readActuals } from './actuals.ts';
import { kindOf } from './keep.ts';
import { pointsOf } from './packed.ts';
import { referenceNames } from './references.ts';
import type { FoundResult, ResultSpan, ResultStore } from './result-store.ts';
import { ScoreBoard } from './score.ts';

export interface ResultParts {
  readonly routes: readonly CommissionedRoute[];
  readonly store: Pick<ResultStore, 'page' | 'find' | 'extent' | 'walk'>;
  readonly history: HistoryAdapter;
  readonly limits: ProcessingLimits;
  readonly clock: Clock;
}

/** The scored period without `from`. */
const usualDays = 30;

const resource = () => ({ kind: 'processing-binding', id: 'processing-binding:unknown' });

export function resultCapabilities(parts: ResultParts): BoundCapability[] {
  return [
    {
      descriptor: dataProcessing.results,
      resource,
      handler: async (context) => ({ data: await listed(context, parts) }),
    },
    {
      descriptor: dataProcessing.result,
      resource,
      handler: (context) => inTime(parts, (signal) => read(context, parts, signal)),
    },
    {
      descriptor: dataProcessing.scores,
      resource,
      handler: (context) => inTime(parts, (signal) => scored(context, parts, signal)),
    },
  ];
}

async function inTime(
  { clock, limits }: ResultParts,
  work: (signal: AbortSignal) => Promise<KeptResult | Scores>,
): Promise<Answer> {
  const limit = deadline(clock, limits.score_timeout_ms);
  try {
    return { data: await untilAborted(work(limit.signal), limit.signal) };
  } catch (error) {
    if (error instanceof Fault || !timeIsUp(limit.signal)) throw error;
    throw new Fault('deadline-exceeded', 'reading took too long; ask for less time at once', { cause: error });
  } finally {
    limit.cancel();
  }
}

async function listed({ query }: CallContext, { store, clock }: ResultParts): Promise<ResultList> {
  const { task, binding, from, to, page: text = '1' } = query as ResultsQuery;
  const span = spanOf(from ?? formatTimestamp(0), to, clock);
  const page = Number(text);
  const { list, total } = await store.page({ taskId: task, bindingId: binding }, span, page);
  return {
    schema: 'svc.data-processing.results.v1',
    list: [...list],
    ...pagePosition(total, page, resultPageSize),
  };
}

async function read({ params, query }: CallContext, parts: ResultParts, signal: AbortSignal): Promise<KeptResult> {
  const found = await parts.store.find(params['result_id'] ?? '');
  if (found === null) throw new Fault('not-found', 'no stored result has this id');
  const cadenceMs = cadenceOf(found);
  const times = Array.from({ length: found.steps }, (_, step) => found.firstMs + step * cadenceMs);
  const written = times.map(formatTimestamp);
  const { envelope, numbers } = found;
  const derived =
    envelope === null || numbers === null
      ? null
      : { ...envelope, data: { ...envelope.data, points: pointsOf(numbers, found.probabilities, written) } };
  const result: KeptResult = {
    schema: 'svc.data-processing.kept-result.v1',
    entry: found.entry,
    derived,
    frame_digest: found.inputDigest,
    references: referencesOf(found),
  };
  const { include, before } = query as ResultQuery;
  if (include !== 'actuals') {
    if (before === undefined) return result;
    throw new Fault('invalid-input', 'before needs include=actuals');
  }
  const route = routeOf(parts.routes, found.kind.taskId, found.kind.bindingId);
  // Another revision may have another grid or unit: current values would not be its actuals.
  if (!isDeepStrictEqual(kindOf(route), found.kind))
    throw new Fault(
      'task-not-commissioned',
      'this result is of another revision than the commissioned one; read it without include=actuals',
    );
  const gridMs = route.task.frame.cadence_seconds * 1000;
  const firstMs = found.firstMs - Number(before ?? 0) * gridMs;
  const lastMs = found.firstMs + (found.steps - 1) * gridMs;
  const actualAt = await readActuals(route, { firstMs, lastMs }, parts.history, signal);
  const recorded = (fromMs: number, toMs: number) =>
    Array.from({ length: Math.max(0, (toMs - fromMs) / gridMs + 1) }, (_, step) => {
      const labelMs = fromMs + step * gridMs;
      return { timestamp: formatTimestamp(labelMs), value: orNull(actualAt(labelMs)) };
    });
  const actuals = recorded(found.firstMs, lastMs);
  return { ...result, actuals, ...(before === undefined ? {} : { before: recorded(firstMs, found.firstMs - gridMs) }) };
}

function cadenceOf({ steps, firstMs, entry }: FoundResult): number {
  const lastMs = parseTimestamp(entry.last) ?? firstMs;
  return steps > 1 ? (lastMs - firstMs) / (steps - 1) : 0;
}

function referencesOf({ numbers }: FoundResult): KeptResult['references'] {
  const row = (index: number): (number | null)[] => Array.from(numbers?.references[index] ?? [], orNull);
  return {
    persistence: row(referenceNames.indexOf('persistence')),
    same_time_yesterday: row(referenceNames.indexOf('same_time_yesterday')),
    same_time_last_week: row(referenceNames.indexOf('same_time_last_week')),
  };
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

async function scored({ query }: CallContext, parts: ResultParts, signal: AbortSignal): Promise<Scores> {
  const { task, binding, from, to, by = 'none' } = query as ScoresQuery;
  const route = routeOf(parts.routes, task, binding);
  const span = spanOf(from, to, parts.clock);
  const actualAt = await actualsIn(route, span, parts, signal);
  const cadenceMs = route.task.frame.cadence_seconds * 1000;
  const board = new ScoreBoard({ by, ...span, cadenceMs, timeZone: route.task.frame.timezone, actualAt });
  const pace = createPace(parts.clock);
  for await (const portion of parts.store.walk(kindOf(route), span)) {
    for (const result of portion) {
      board.add(result);
      await pace();
      signal.throwIfAborted();
    }
  }
  return {
    schema: 'svc.data-processing.scores.v1',
    task,
    binding,
    unit: route.task.output.unit,
    from: formatTimestamp(span.fromMs),
    to: formatTimestamp(span.toMs),
    by,
    groups: await inTurns(parts.clock, board.groups(), signal),
  };
}

/** Of the targets in the span; future ones are not recorded yet. */
async function actualsIn(
  route: CommissionedRoute,
  span: ResultSpan,
  { store, history, clock, limits }: ResultParts,
  signal: AbortSignal,
): Promise<ActualAt> {
  const extent = await store.extent(kindOf(route), span);
  if (extent === null) return () => Number.NaN;
  const cadenceMs = route.task.frame.cadence_seconds * 1000;
  const firstMs = Math.max(extent.firstMs, Math.ceil(span.fromMs / cadenceMs) * cadenceMs);
  const newestMs = Math.floor(Math.min(span.toMs - 1, clock.wallMs()) / cadenceMs) * cadenceMs;
  const lastMs = Math.min(extent.lastMs, newestMs);
  const labels = (lastMs - firstMs) / cadenceMs + 1;
  if (labels > limits.score_labels)
    throw new Fault(
      'invalid-input',
      `this span has ${labels} labels; at most ${limits.score_labels} are scored at once, so give a shorter span`,
      {
        details: { labels, score_labels: limits.score_labels },
      },
    );
  return readActuals(route, { firstMs, lastMs }, history, signal);
}

function routeOf(routes: readonly CommissionedRoute[], taskId: string, bindingId: string): CommissionedRoute {
  const route = routes.find(({ task, binding }) => task.id === taskId && binding.id === bindingId);
  if (route === undefined) throw new Fault('task-not-commissioned', 'this task and binding are not commissioned');
  return route;
}

/** Throws Fault `invalid-input`. */
function spanOf(from: string | undefined, to: string | undefined, clock: Clock): ResultSpan {
  const toMs = to === undefined ? clock.wallMs() : timeOf('to', to);
  const fromMs = from === undefined ? toMs - usualDays * dayMs : timeOf('from', from);
  if (fromMs >= toMs) throw new Fault('invalid-input', 'from must lie before to');
  return { fromMs, toMs };
}

function timeOf(name: string, text: string): number {
  const ms = parseTimestamp(text);
  if (ms === null) throw new Fault('invalid-input', `${name} is not a valid time`);
  return ms;
}
