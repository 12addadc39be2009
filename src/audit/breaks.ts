/** What is known to be wrong with the chains of the audit, for everything that has to say so: readiness, alarms, metrics, console. */

export interface Break {
  /** The chain, as `nameOf` has it. */
  readonly chain: string;
  /** First sequence that is not as it was recorded. */
  readonly sequence: number;
  readonly reason: string;
}

/** Who found it: what one has found stays until the same one finds nothing any more. */
type Finder = 'checkpoint' | 'full-check' | 'witness';

export class Breaks {
  readonly #found = new Map<string, Break>();

  found(finder: Finder, wrong: Break): void {
    this.#found.set(`${finder} ${wrong.chain}`, wrong);
  }

  nothing(finder: Finder, chain: string): void {
    this.#found.delete(`${finder} ${chain}`);
  }

  list(): readonly Break[] {
    return [...this.#found.values()];
  }
}
