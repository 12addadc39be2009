/** A source of alarms: it reads a part of the site and owns the alarms about it. Each source has one file and a line in the index. */
import type { AlarmFacts } from '../alarm-state.ts';
import type { AlarmLimits } from '../limits.ts';
import type { SiteNow } from '../site-now.ts';

/** An alarm of the source with its condition now. */
export interface Sight {
  readonly facts: AlarmFacts;
  /** Null without a usable observation. */
  readonly raw: boolean | null;
  readonly delayMs: number;
}

export interface AlarmSource {
  owns(id: string): boolean;
  /** Null if none of its alarms can be evaluated. Alarms that it no longer names are cleared. */
  look(view: SiteNow, limits: AlarmLimits, was: (id: string) => boolean): readonly Sight[] | null;
}

/** An alarm of every site, about a subject or about the site as a whole. */
export function builtIn(
  facts: Omit<AlarmFacts, 'message' | 'point' | 'threshold'> & { readonly message: string },
): AlarmFacts {
  return { ...facts, point: null, threshold: null };
}
