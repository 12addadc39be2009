/**
 * A cache of rule reads, valid while the database is unchanged: pages request the same rule or list repeatedly. A database that
 * cannot tell at once whether it changed is not cached.
 */

/** Maximum number of characters in the cache; a larger entry is not cached. */
export const keptCharactersMax = 4_194_304;

export class KeptReads<K, V> {
  readonly #version: () => number | null;
  readonly #charactersOf: (value: V) => number;
  /** In order of last use, the latest at the end. */
  readonly #kept = new Map<K, V>();
  #characters = 0;
  #keptAt: number | null = null;

  constructor(version: () => number | null, charactersOf: (value: V) => number) {
    this.#version = version;
    this.#charactersOf = charactersOf;
  }

  /** The result of `read`, or its cached result if nothing has changed since; null is not cached. */
  async get<R extends V | null>(key: K, read: () => Promise<R>): Promise<R | V> {
    // Before the read: a change in between invalidates the entry.
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
