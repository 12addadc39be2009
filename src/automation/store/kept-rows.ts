/**
 * Rows of rules that were read, for as long as nothing in the database changes: whoever looks at a rule asks for it again and
 * again. A database that cannot tell at once whether it changed keeps none.
 */
import type { RuleRow } from './rule-table.ts';

/** Characters of all rows that are kept; one that alone has more is not. */
export const keptCharactersMax = 4_194_304;

export class KeptRows {
  readonly #version: () => number | null;
  /** By id, the one that was asked for last at the end. */
  readonly #rows = new Map<number, RuleRow>();
  #characters = 0;
  #keptAt: number | null = null;

  constructor(version: () => number | null) {
    this.#version = version;
  }

  /** The row as `read` answers it, or as it answered when nothing had changed since. */
  async get(id: number, read: () => Promise<RuleRow | null>): Promise<RuleRow | null> {
    // Before the row is read: one that changes in between is read again.
    const version = this.#version();
    if (version !== this.#keptAt) this.#forget(version);
    const kept = this.#rows.get(id);
    if (kept !== undefined) {
      this.#rows.delete(id);
      this.#rows.set(id, kept);
      return kept;
    }
    const row = await read();
    if (row !== null && version !== null && version === this.#keptAt) this.#keep(row);
    return row;
  }

  #keep(row: RuleRow): void {
    const characters = charactersOf(row);
    if (characters > keptCharactersMax || this.#rows.has(row.id)) return;
    this.#rows.set(row.id, row);
    this.#characters += characters;
    for (const [id, oldest] of this.#rows) {
      if (this.#characters <= keptCharactersMax) return;
      this.#rows.delete(id);
      this.#characters -= charactersOf(oldest);
    }
  }

  #forget(version: number | null): void {
    this.#rows.clear();
    this.#characters = 0;
    this.#keptAt = version;
  }
}

function charactersOf({ flow_json, nodes_json, trigger_config, tests, description }: RuleRow): number {
  const texts = [flow_json, nodes_json, trigger_config, tests, description];
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}
