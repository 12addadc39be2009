/** Known breaks of the audit logs. Readiness, alarms and metrics read them; the checkpointer signs no log with a break. */

export interface Break {
  /** The log's name in its checkpoints. After an acknowledged break the log has another name. */
  readonly origin: string;
  /** First sequence that differs from the record. */
  readonly sequence: number;
  readonly reason: string;
}

/** A message for the site's administrator. */
export function breakText({ origin, sequence, reason }: Break): string {
  return `Log ${origin}, from event ${sequence} on: ${reason}.`;
}

/** Source of the finding: it stays until the same source finds the log intact, or a person acknowledges it. */
type Finder = 'checkpoint' | 'full-check' | 'witness';

export class Breaks {
  readonly #found = new Map<string, Break>();

  found(finder: Finder, wrong: Break): void {
    this.#found.set(`${finder} ${wrong.origin}`, wrong);
  }

  nothing(finder: Finder, origin: string): void {
    this.#found.delete(`${finder} ${origin}`);
  }

  /** Whether a source other than the checkpointer found the log broken. */
  foundElsewhere(origin: string): Break | null {
    return this.#found.get(`witness ${origin}`) ?? this.#found.get(`full-check ${origin}`) ?? null;
  }

  /** The chain continues under another name: its earlier breaks are acknowledged. */
  acknowledged(origins: readonly string[]): void {
    for (const origin of origins)
      for (const finder of ['checkpoint', 'full-check', 'witness'] as const) this.nothing(finder, origin);
  }

  list(): readonly Break[] {
    return [...this.#found.values()];
  }
}
