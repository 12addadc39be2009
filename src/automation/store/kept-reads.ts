/**
 * A cache of rule reads, valid while the database is unchanged: pages ask for a rule or a list again and again. A database that
 * cannot tell at once whether it changed is not cached.
 */

/** Characters of everything that is kept; what alone has more is not. */
export const keptCharactersMax = 4_194_304;

export class KeptReads<K, V> {
  readonly #version: () => number | null;
  readonly #charactersOf: (value: V) => number;
  /** The one that was asked for last at the end. */
  readonly #kept = new Map<K, V>();
  #characters = 0;
  #keptAt: number | null = null;

  constructor(version: () => number | null, charactersOf: (value: V) => number) {
    this.#version = version;
    this.#charactersOf = charactersOf;
  }

  /** As `read` answers, or as it answered when nothing had changed since; null is never kept. */
  async get<R extends V | null>(key: K, read: () => Promise<R>): Promise<R | V> {
    // Before it is read: what changes in between is read again.
    const version = this.#version();
    if (version !== this.#keptAt) this.#forget(version);
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return kept;
    }
    const value = await read();
    if (value !== null && version !== null && version === this.#keptAt) this.#keep(key, value);
    return value;
  }

  #keep(key: K, value: V): void {
    const characters = this.#charactersOf(value);
    if (characters > keptCharactersMax || this.#kept.has(key)) return;
    this.#kept.set(key, value);
    this.#characters += characters;
    for (const [first, oldest] of this.#kept) {
      if (this.#characters <= keptCharactersMax) return;
      this.#kept.delete(first);
      this.#characters -= this.#charactersOf(oldest);
    }
  }

  #forget(version: number | null): void {
    this.#kept.clear();
    this.#characters = 0;
    this.#keptAt = version;
  }
}
