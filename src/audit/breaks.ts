/** Known breaks of the audit logs. Readiness, alarms and metrics read them; the checkpointer signs no log that has one. */

export interface Break {
  /** The log's name in its checkpoints. Once a break is acknowledged the log has another one. */
  readonly origin: string;
  /** First sequence that is not as it was recorded. */
  readonly sequence: number;
  readonly reason: string;
}

/** A sentence for the site's administrator. */
export function breakText({ origin, sequence, reason }: Break): string {
  return `Log ${origin}, from event ${sequence} on: ${reason}.`;
}

/** Who found it: a finding stays until the same finder sees the log whole, or somebody acknowledges it. */
type Finder = 'checkpoint' | 'full-check' | 'witness';

export class Breaks {
  readonly #found = new Map<string, Break>();

  found(finder: Finder, wrong: Break): void {
    this.#found.set(`${finder} ${wrong.origin}`, wrong);
  }

  nothing(finder: Finder, origin: string): void {
    this.#found.delete(`${finder} ${origin}`);
  }

  /** Whether anybody but the checkpointer itself found the log broken. */
  foundElsewhere(origin: string): Break | null {
    return this.#found.get(`witness ${origin}`) ?? this.#found.get(`full-check ${origin}`) ?? null;
  }

  /** The chain goes on under another name: its earlier breaks are acknowledged. */
  acknowledged(origins: readonly string[]): void {
    for (const origin of origins)
      for (const finder of ['checkpoint', 'full-check', 'witness'] as const) this.nothing(finder, origin);
  }

  list(): readonly Break[] {
    return [...this.#found.values()];
  }
}
