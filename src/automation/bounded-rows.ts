/** Rows waiting to be stored, limited in number and bytes: beyond either limit the oldest is dropped and counted. */
import { Fifo } from '../base/fifo.ts';
import type { RunRow } from './run-blocks.ts';

export interface RowLimits {
  readonly record_queue: number;
  readonly record_queue_bytes: number;
}

export class BoundedRows {
  readonly #limits: RowLimits;
  readonly #rows = new Fifo<RunRow>();
  #bytes = 0;
  #dropped = 0;
  #taken = 0;

  constructor(limits: RowLimits) {
    this.#limits = limits;
  }

  push(row: RunRow): void {
    this.#rows.push(row);
    this.#bytes += row.record.length;
    while (this.#rows.length > this.#limits.record_queue || this.#bytes > this.#limits.record_queue_bytes) {
      this.remove(1);
      this.#dropped++;
    }
  }

  /** The oldest rows, at most `count`; they stay. */
  head(count: number): readonly RunRow[] {
    return this.#rows.head(count);
  }

  /** Removes the oldest rows. */
  remove(count: number): readonly RunRow[] {
    const gone = this.#rows.take(count);
    for (const row of gone) this.#bytes -= row.record.length;
    this.#taken += gone.length;
    return gone;
  }

  get length(): number {
    return this.#rows.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Number of rows removed for any reason since its creation. */
  get left(): number {
    return this.#taken;
  }

  get dropped(): number {
    return this.#dropped;
  }
}
