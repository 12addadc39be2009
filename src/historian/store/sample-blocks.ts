/**
 * The blocks of a history file: copies of rows for reads of many rows (`row-block.ts`). The rows are authoritative: the transaction that
 * changes rows removes their blocks or rebuilds them. The quarter hour of a series' newest row is in no block, because it is still
 * growing.
 */
import { sql } from 'kysely';
import { rollupEndMs, widestRollupMs } from '../rollup.ts';
import { type BlockRow, packRows } from '../row-block.ts';
import { lastBlockEnd, rowColumns } from '../window-queries.ts';
import type { HistoryDatabase } from './history-database.ts';

export interface BlockLimits {
  /** A block ends with the quarter hour in which it reaches this many rows. */
  readonly rowsMin: number;
  /** A quarter hour with more rows is not in a block: its rows are read one by one. */
  readonly rowsMax: number;
  /** Rows that a transaction may copy in addition to the number that it adds; the next transactions continue. */
  readonly copiedRows: number;
}

export const blockLimits: BlockLimits = { rowsMin: 512, rowsMax: 65_536, copiedRows: 16_384 };

const earliest = Number.MIN_SAFE_INTEGER;

interface Quarter {
  readonly endMs: number;
  readonly rows: number;
}

/** Rows in (afterMs, endMs] are to become a block. */
interface Extent {
  readonly afterMs: number;
  readonly endMs: number;
}

/** The state of a series between transactions. */
interface Looked {
  /** Start of its open quarter hour. */
  readonly openMs: number;
  /** Where rows still have to be copied. */
  readonly waitingMs: readonly number[];
}

/** By series and end of quarter hour, the number of rows added to it. */
export type AddedRows = ReadonlyMap<number, ReadonlyMap<number, number>>;

export class SampleBlocks {
  readonly #statements;
  readonly #limits;
  readonly #looked = new Map<number, Looked>();
  /** Rows that this transaction may still copy. */
  #left = 0;

  constructor(database: HistoryDatabase, limits: BlockLimits) {
    this.#statements = prepare(database);
    this.#limits = limits;
  }

  added(added: AddedRows): void {
    this.#left = this.#limits.copiedRows;
    for (const quarters of added.values()) for (const rows of quarters.values()) this.#left += rows;
    for (const [series, quarters] of added) {
      const openMs = this.#openMs(series);
      const closed = [...quarters.keys()].filter((endMs) => endMs <= openMs);
      for (const endMs of closed)
        this.#statements.remove.run({ series, after: endMs - widestRollupMs, through: endMs });
      this.#copyAround(series, closed, openMs);
    }
  }

  /** Rows in (afterMs, throughMs] were deleted or changed. */
  changed(series: number, afterMs: number, throughMs: number): void {
    this.#left = this.#limits.copiedRows;
    const openMs = this.#openMs(series);
    this.#statements.remove.run({ series, after: afterMs, through: throughMs });
    // A closed quarter hour may be open again.
    this.#statements.remove.run({ series, after: openMs, through: Number.MAX_SAFE_INTEGER });
    this.#copyAround(series, [throughMs], openMs);
  }

  /** Rows at or before `throughMs` were removed. */
  pruned(series: number, throughMs: number): void {
    this.#statements.remove.run({ series, after: earliest, through: throughMs });
  }

  /** Builds blocks at these times, where earlier transactions stopped, and for closed quarter hours. */
  #copyAround(series: number, moments: readonly number[], openMs: number): void {
    const looked = this.#looked.get(series);
    const due = [...moments, ...(looked?.waitingMs ?? []), ...(looked?.openMs === openMs ? [] : [openMs])];
    const waitingMs: number[] = [];
    let doneMs = earliest;
    for (const atMs of due.map((each) => Math.min(each, openMs)).toSorted((a, b) => a - b)) {
      if (atMs <= doneMs) continue;
      const { throughMs, isWhole } = this.#fill(series, atMs, openMs);
      doneMs = throughMs;
      if (!isWhole) waitingMs.push(throughMs);
    }
    this.#looked.set(series, { openMs, waitingMs });
  }

  /** The start of the quarter hour of the newest row. */
  #openMs(series: number): number {
    const newest = this.#statements.newest.all({ series })[0]?.[0];
    return newest === undefined ? earliest : rollupEndMs(Number(newest), widestRollupMs) - widestRollupMs;
  }

  /**
   * Builds blocks of the rows around a moment, from the previous block to the next one or to `openMs`, earliest first; returns
   * where that ends, and whether all were built.
   */
  #fill(series: number, atMs: number, openMs: number): { readonly throughMs: number; readonly isWhole: boolean } {
    const before = this.#statements.before.all({ series, at: atMs })[0]?.[0];
    const behind = this.#statements.behind.all({ series, at: atMs })[0]?.[0];
    const throughMs = behind === undefined ? openMs : Math.min(openMs, Number(behind));
    const after = before === undefined ? earliest : Number(before);
    const most = Math.max(0, this.#left);
    const quarters = this.#statements.quarters
      .all({ series, width: widestRollupMs, after, through: throughMs, most })
      .map(([endMs, rows]): Quarter => ({ endMs: Number(endMs), rows: Number(rows) }));
    const extents = this.#extents(quarters, before === undefined ? null : after);
    for (const { rows, ...extent } of extents) {
      if (this.#left <= 0) return { throughMs, isWhole: false };
      this.#copy(series, extent);
      this.#left -= rows;
    }
    return { throughMs, isWhole: quarters.length < most };
  }

  /** The blocks of the quarter hours without one, and their rows. `afterMs`: the end of the previous block; null without one. */
  #extents(quarters: readonly Quarter[], afterMs: number | null): readonly (Extent & { readonly rows: number })[] {
    const { rowsMin, rowsMax } = this.#limits;
    const extents: (Extent & { readonly rows: number })[] = [];
    let begin = afterMs;
    let rows = 0;
    for (const { endMs, rows: more } of quarters) {
      if (more > rowsMax) {
        begin = endMs;
        rows = 0;
        continue;
      }
      begin ??= endMs - widestRollupMs;
      rows += more;
      if (rows < rowsMin) continue;
      extents.push({ afterMs: begin, endMs, rows });
      begin = endMs;
      rows = 0;
    }
    return extents;
  }

  #copy(series: number, { afterMs, endMs }: Extent): void {
    const { rowsIn, add } = this.#statements;
    const rows = rowsIn.all({ series, after: afterMs, through: endMs }).map(blockRow);
    add.run({ series, end: endMs, after: afterMs, rows: packRows(rows, afterMs) });
  }
}

/** From `rowColumns`. */
function blockRow([eventMs, ingestedMs, value, quality, count, sinceMs]: readonly unknown[]): BlockRow {
  const row = {
    eventMs: Number(eventMs),
    ingestedMs: Number(ingestedMs),
    value: typeof value === 'number' ? value : null,
    quality: Number(quality),
  };
  return sinceMs === null ? row : { ...row, observations: { count: Number(count), sinceMs: Number(sinceMs) } };
}

function prepare(database: HistoryDatabase) {
  return {
    newest: database.statement(['series'], (query, at) =>
      query
        .selectFrom('sample')
        .select('event_ms')
        .where('series', '=', at.series)
        .orderBy('event_ms', 'desc')
        .limit(1),
    ),
    before: database.statement(['series', 'at'], (query, at) =>
      query
        .selectFrom('sample_block')
        .select('end_ms')
        .where('series', '=', at.series)
        .where('end_ms', '<=', at.at)
        .orderBy('end_ms', 'desc')
        .limit(1),
    ),
    behind: database.statement(['series', 'at'], (query, at) =>
      query
        .selectFrom('sample_block')
        .select('after_ms')
        .where('series', '=', at.series)
        .where('end_ms', '>', at.at)
        .orderBy('end_ms')
        .limit(1),
    ),
    quarters: database.statement(['series', 'width', 'after', 'through', 'most'], (query, at) =>
      query
        .selectFrom('rollup')
        .select(['end_ms', 'row_count'])
        .where('series', '=', at.series)
        .where('width_ms', '=', at.width)
        .where('end_ms', '>', at.after)
        .where('end_ms', '<=', at.through)
        .orderBy('end_ms')
        .limit(at.most),
    ),
    rowsIn: database.statement(['series', 'after', 'through'], (query, at) =>
      query
        .selectFrom('sample')
        .select(rowColumns)
        .where('series', '=', at.series)
        .where('event_ms', '>', at.after)
        .where('event_ms', '<=', at.through)
        .orderBy('event_ms')
        .orderBy('ordinal'),
    ),
    add: database.statement(['series', 'end', 'after', 'rows'], (query, at) =>
      query.insertInto('sample_block').values({
        series: at.series,
        end_ms: at.end,
        after_ms: at.after,
        rows: sql<Uint8Array>`${at.rows}`,
      }),
    ),
    /** Those that overlap the span. */
    remove: database.statement(['series', 'after', 'through'], (query, at) =>
      query
        .deleteFrom('sample_block')
        .where('series', '=', at.series)
        .where('end_ms', '>', at.after)
        .where('end_ms', '<=', lastBlockEnd(query, at.series, at.through))
        .where('after_ms', '<', at.through),
    ),
  };
}
