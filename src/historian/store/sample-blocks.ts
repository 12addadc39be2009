/**
 * The blocks of a history file: copies of rows that are read many at a time (`row-block.ts`). Rows are the truth; a block that no
 * longer equals its rows is made again in the transaction that changed them. A block never reaches into the quarter hour of its
 * series' newest row, which still grows.
 */
import { sql } from 'kysely';
import { keptRow } from '../delete.ts';
import { rollupEndMs, widestRollupMs } from '../rollup.ts';
import { type BlockRow, packRows } from '../row-block.ts';
import { lastBlockEnd, rowColumns } from '../window-queries.ts';
import type { HistoryDatabase } from './history-database.ts';

export interface BlockLimits {
  /** A block ends with the quarter hour in which it has so many rows. */
  readonly rowsMin: number;
  /** A quarter hour with more rows is in no block: its rows are read one by one. */
  readonly rowsMax: number;
  /** Rows of one series that one transaction copies beyond as many as it added; the next one goes on. */
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

export class SampleBlocks {
  readonly #statements;
  readonly #limits;
  /** By series: where its open quarter hour began when its blocks were last looked at. */
  readonly #lookedMs = new Map<number, number>();

  constructor(database: HistoryDatabase, limits: BlockLimits) {
    this.#statements = prepare(database);
    this.#limits = limits;
  }

  /** By the end of each quarter hour, how many rows were added to it. */
  added(series: number, added: ReadonlyMap<number, number>): void {
    const openMs = this.#openMs(series);
    const isKnown = this.#lookedMs.get(series) === openMs;
    this.#lookedMs.set(series, openMs);
    const closed = [...added.keys()].filter((endMs) => endMs <= openMs).toSorted((a, b) => a - b);
    const most = [...added.values()].reduce((sum, rows) => sum + rows, this.#limits.copiedRows);
    for (const endMs of closed) this.#statements.remove.run({ series, after: endMs - widestRollupMs, through: endMs });
    let filledMs = earliest;
    for (const endMs of closed) if (endMs > filledMs) filledMs = this.#fill(series, endMs, openMs, most);
    if (!isKnown && filledMs < openMs) this.#fill(series, openMs, openMs, most);
  }

  /** Rows in (afterMs, throughMs] were deleted or changed. */
  changed(series: number, afterMs: number, throughMs: number): void {
    const openMs = this.#openMs(series);
    this.#statements.remove.run({ series, after: afterMs, through: throughMs });
    // What was closed may be open again.
    this.#statements.remove.run({ series, after: openMs, through: Number.MAX_SAFE_INTEGER });
    if (openMs > earliest) this.#fill(series, Math.min(throughMs, openMs), openMs, this.#limits.copiedRows);
  }

  /** Rows at or before `throughMs` were removed. */
  pruned(series: number, throughMs: number): void {
    this.#statements.remove.run({ series, after: earliest, through: throughMs });
  }

  /** Where the quarter hour of the newest row begins. */
  #openMs(series: number): number {
    const newest = this.#statements.newest.all({ series })[0]?.[0];
    return newest === undefined ? earliest : rollupEndMs(Number(newest), widestRollupMs) - widestRollupMs;
  }

  /**
   * Makes blocks of about `most` rows around a moment, from the block before it to the one after it or to `openMs`, the earliest first;
   * answers where that ends.
   */
  #fill(series: number, atMs: number, openMs: number, most: number): number {
    const before = this.#statements.before.all({ series, at: atMs })[0]?.[0];
    const behind = this.#statements.behind.all({ series, at: atMs })[0]?.[0];
    const throughMs = behind === undefined ? openMs : Math.min(openMs, Number(behind));
    const quarters = this.#statements.quarters
      .all({
        series,
        width: widestRollupMs,
        most,
        after: before === undefined ? earliest : Number(before),
        through: throughMs,
      })
      .map(([endMs, rows]): Quarter => ({ endMs: Number(endMs), rows: Number(rows) }));
    const { extents, isMore } = this.#extents(quarters, before === undefined ? null : Number(before), most);
    for (const extent of extents) this.#copy(series, extent);
    if (isMore || quarters.length === most) this.#lookedMs.delete(series);
    return throughMs;
  }

  /** The blocks that quarter hours without one make. `afterMs`: where the block before them ends; null without one. */
  #extents(
    quarters: readonly Quarter[],
    afterMs: number | null,
    most: number,
  ): { readonly extents: readonly Extent[]; readonly isMore: boolean } {
    const { rowsMin, rowsMax } = this.#limits;
    const extents: Extent[] = [];
    let begin = afterMs;
    let rows = 0;
    let copied = 0;
    for (const { endMs, rows: more } of quarters) {
      if (copied >= most) return { extents, isMore: true };
      if (more > rowsMax) {
        begin = endMs;
        rows = 0;
        continue;
      }
      begin ??= endMs - widestRollupMs;
      rows += more;
      if (rows < rowsMin) continue;
      extents.push({ afterMs: begin, endMs });
      copied += rows;
      begin = endMs;
      rows = 0;
    }
    return { extents, isMore: false };
  }

  #copy(series: number, { afterMs, endMs }: Extent): void {
    const { rowsIn, add } = this.#statements;
    const rows = rowsIn.all({ series, after: afterMs, through: endMs }).map(blockRow);
    add.run({ series, end: endMs, after: afterMs, rows: packRows(rows, afterMs) });
  }
}

function blockRow(row: readonly unknown[]): BlockRow {
  return keptRow({ instance: 0, point: 0 }, row);
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
        .select([...rowColumns, 'ordinal'])
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
    /** All that reach into the span. */
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
