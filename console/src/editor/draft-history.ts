/** The edited content and all its states: undo and redo without limit. */
import type { FlowDocument } from './flow-document.ts';

/** The content of a rule that one PUT saves [rules §2.3]. */
export interface Content {
  readonly name: string;
  readonly description: string | null;
  readonly priority: number;
  readonly cooldown_ms: number;
  readonly trigger_config: object | null;
  /** Null for a rule that was never drawn. */
  readonly flow: FlowDocument | null;
}

export interface DraftHistory {
  readonly past: readonly Content[];
  readonly present: Content;
  readonly future: readonly Content[];
  /** Subject and time of the newest change: the next change of the same subject is merged into it. */
  readonly last: { readonly about: string; readonly atMs: number } | null;
}

/** Changes of the same field within this time are one step of undo. */
const joinMs = 1200;

export function beginHistory(present: Content): DraftHistory {
  return { past: [], present, future: [], last: null };
}

/** `about` names the field; null for a change that is never merged. */
export function edited(history: DraftHistory, next: Content, about: string | null, atMs: number): DraftHistory {
  if (next === history.present) return history;
  const { last } = history;
  const joins = about !== null && last !== null && last.about === about && atMs - last.atMs < joinMs;
  const past = joins ? history.past : [...history.past, history.present];
  return { past, present: next, future: [], last: about === null ? null : { about, atMs } };
}

export function undone(history: DraftHistory): DraftHistory {
  const previous = history.past.at(-1);
  if (previous === undefined) return history;
  const future = [history.present, ...history.future];
  return { past: history.past.slice(0, -1), present: previous, future, last: null };
}

export function redone(history: DraftHistory): DraftHistory {
  const [next, ...future] = history.future;
  if (next === undefined) return history;
  return { past: [...history.past, history.present], present: next, future, last: null };
}

/** Whether both are saved as the same bytes. */
export function sameContent(a: Content, b: Content): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
