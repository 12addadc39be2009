/** The store of results: insert, search, iterate, and removal by age. */
import type { DerivedData } from '../../api/processing.ts';
import { type ResultEntry, resultPageSize } from '../../api/processing-results.ts';
import { formatTimestamp } from '../../base/timestamp.ts';
import type { ForecastDatabase, ForecastTables } from './forecast-database.ts';
import { packNumbers, type ResultNumbers, unpackNumbers } from './packed.ts';
import type { ScoredResult } from './score.ts';

/** A task and a binding with their commissioned revisions: another revision is another forecast. */
export interface ResultKind {
  readonly taskId: string;
  readonly taskRevision: number;
  readonly bindingId: string;
  readonly bindingRevision: number;
}

export interface NewResult {
  readonly resultId: string;
  readonly kind: ResultKind;
  readonly asOfMs: number;
  readonly keptMs: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly steps: number;
  readonly probabilities: readonly number[];
  readonly inputDigest: string;
  readonly outcome:
    | { readonly status: 'produced' | 'fallback'; readonly derived: DerivedData; readonly numbers: ResultNumbers }
    | { readonly status: 'unavailable'; readonly reasonCode: string };
}

export interface FoundResult {
  readonly entry: ResultEntry;
  readonly kind: ResultKind;
  readonly inputDigest: string;
  readonly probabilities: readonly number[];
  readonly steps: number;
  readonly firstMs: number;
  /** DerivedData without its points; null when unavailable. */
  readonly envelope: DerivedData | null;
  readonly numbers: ResultNumbers | null;
}

export interface ResultSpan {
  readonly fromMs: number;
  /** Not in it. */
  readonly toMs: number;
}

type Row = ForecastTables['kept_result'];
type ReadRow = Omit<Row, 'seq'> & { readonly seq: number };

/** Rows per read while scoring, and per removal. */
const rowsPerRead = 50;
const removedPerKeep = 50;

export class ResultStore {
  readonly #database: ForecastDatabase;

  constructor(database: ForecastDatabase) {
    this.#database = database;
  }

  /** Also removes some of those stored before `keepFromMs`. */
  async keep(result: NewResult, keepFromMs: number): Promise<void> {
    const { outcome, kind } = result;
    const envelope =
      outcome.status === 'unavailable'
        ? ({ reason_code: outcome.reasonCode } satisfies Unavailable)
        : { ...outcome.derived, data: { ...outcome.derived.data, points: [] } };
    await this.#database.transaction(async (transaction) => {
      await transaction
        .insertInto('kept_result')
        .values({
          result_id: result.resultId,
          task_id: kind.taskId,
          task_revision: kind.taskRevision,
          binding_id: kind.bindingId,
          binding_revision: kind.bindingRevision,
          status: outcome.status,
          as_of_ms: result.asOfMs,
          kept_ms: result.keptMs,
          first_ms: result.firstMs,
          last_ms: result.lastMs,
          steps: result.steps,
          probabilities: JSON.stringify(result.probabilities),
          input_digest: result.inputDigest,
          envelope: JSON.stringify(envelope),
          numbers: outcome.status === 'unavailable' ? new Uint8Array(0) : packNumbers(outcome.numbers),
        })
        .execute();
      const old = transaction
        .selectFrom('kept_result')
        .select('seq')
        .where('kept_ms', '<', keepFromMs)
        .orderBy('kept_ms')
        .limit(removedPerKeep);
      await transaction.deleteFrom('kept_result').where('seq', 'in', old).execute();
    });
  }

  /** Newest `as_of` first; the span bounds `as_of`. `page` counts from 1. */
  async page(
    { taskId, bindingId }: Pick<ResultKind, 'taskId' | 'bindingId'>,
    { fromMs, toMs }: ResultSpan,
    page: number,
  ): Promise<{ readonly list: readonly ResultEntry[]; readonly total: number }> {
    const chosen = this.#database.query
      .selectFrom('kept_result')
      .where('task_id', '=', taskId)
      .where('binding_id', '=', bindingId)
      .where('as_of_ms', '>=', fromMs)
      .where('as_of_ms', '<', toMs);
    const counted = await chosen.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirst();
    const rows = await chosen
      .select(['result_id', 'status', 'as_of_ms', 'kept_ms', 'first_ms', 'last_ms', 'envelope'])
      .orderBy('as_of_ms', 'desc')
      .orderBy('seq', 'desc')
      .limit(resultPageSize)
      .offset((page - 1) * resultPageSize)
      .execute();
    return { list: rows.map(entryOf), total: counted?.total ?? 0 };
  }

  /** Null if there is none. */
  async find(resultId: string): Promise<FoundResult | null> {
    const row = await this.#database.query
      .selectFrom('kept_result')
      .selectAll()
      .where('result_id', '=', resultId)
      .executeTakeFirst();
    return row === undefined ? null : foundOf(row);
  }

  /** The first and the last label of the results with a target in the span; null if there are none. */
  async extent(
    kind: ResultKind,
    span: ResultSpan,
  ): Promise<{ readonly firstMs: number; readonly lastMs: number } | null> {
    const row = await this.#inSpan(kind, span)
      .select(({ fn }) => [fn.min<number | null>('first_ms').as('first'), fn.max<number | null>('last_ms').as('last')])
      .executeTakeFirst();
    if (row === undefined || row.first === null || row.last === null) return null;
    return { firstMs: row.first, lastMs: row.last };
  }

  /** The results with a target in the span, in portions. */
  async *walk(kind: ResultKind, span: ResultSpan): AsyncGenerator<readonly ScoredResult[]> {
    let portion = this.#portion(kind, span, { last_ms: span.fromMs, seq: 0 });
    for (;;) {
      const rows = await portion;
      const last = rows.at(-1);
      if (last === undefined) return;
      // The next portion is read while this one is used.
      portion = this.#portion(kind, span, last);
      portion.catch(() => undefined);
      yield rows.map(scoredOf);
    }
  }

  /** In index order: a portion starts where the previous one ended. */
  #portion(kind: ResultKind, span: ResultSpan, after: Pick<ReadRow, 'last_ms' | 'seq'>) {
    return this.#inSpan(kind, span)
      .select(['seq', 'last_ms', 'status', 'kept_ms', 'first_ms', 'steps', 'probabilities', 'numbers'])
      .where(({ eb, refTuple, tuple }) => eb(refTuple('last_ms', 'seq'), '>', tuple(after.last_ms, after.seq)))
      .orderBy('last_ms')
      .orderBy('seq')
      .limit(rowsPerRead)
      .execute();
  }

  #inSpan(kind: ResultKind, { fromMs, toMs }: ResultSpan) {
    return this.#database.query
      .selectFrom('kept_result')
      .where('task_id', '=', kind.taskId)
      .where('task_revision', '=', kind.taskRevision)
      .where('binding_id', '=', kind.bindingId)
      .where('binding_revision', '=', kind.bindingRevision)
      .where('last_ms', '>=', fromMs)
      .where('first_ms', '<', toMs);
  }
}

/** The envelope of an unavailable result. */
interface Unavailable {
  readonly reason_code: string;
}

function entryOf(
  row: Pick<ReadRow, 'result_id' | 'status' | 'as_of_ms' | 'kept_ms' | 'first_ms' | 'last_ms' | 'envelope'>,
): ResultEntry {
  return {
    result_id: row.result_id,
    status: row.status,
    as_of: formatTimestamp(row.as_of_ms),
    kept_at: formatTimestamp(row.kept_ms),
    first: formatTimestamp(row.first_ms),
    last: formatTimestamp(row.last_ms),
    reason_code: row.status === 'unavailable' ? (JSON.parse(row.envelope) as Unavailable).reason_code : null,
  };
}

function foundOf(row: ReadRow): FoundResult {
  const scored = scoredOf(row);
  return {
    entry: entryOf(row),
    kind: {
      taskId: row.task_id,
      taskRevision: row.task_revision,
      bindingId: row.binding_id,
      bindingRevision: row.binding_revision,
    },
    inputDigest: row.input_digest,
    probabilities: scored.probabilities,
    steps: scored.steps,
    firstMs: scored.firstMs,
    envelope: row.status === 'unavailable' ? null : (JSON.parse(row.envelope) as DerivedData),
    numbers: scored.numbers,
  };
}

let lastProbabilities = { text: '[]', probabilities: [] as readonly number[] };

/** Results of a task usually have the same probabilities: sharing one list also makes equality cheap to check. */
function probabilitiesOf(text: string): readonly number[] {
  if (lastProbabilities.text !== text)
    lastProbabilities = { text, probabilities: JSON.parse(text) as readonly number[] };
  return lastProbabilities.probabilities;
}

function scoredOf(
  row: Pick<ReadRow, 'status' | 'kept_ms' | 'first_ms' | 'steps' | 'probabilities' | 'numbers'>,
): ScoredResult {
  const probabilities = probabilitiesOf(row.probabilities);
  return {
    status: row.status,
    keptMs: row.kept_ms,
    firstMs: row.first_ms,
    steps: row.steps,
    probabilities,
    numbers: row.status === 'unavailable' ? null : unpackNumbers(row.numbers, row.steps, probabilities.length),
  };
}
