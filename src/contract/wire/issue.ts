/** An error in a message: the place as a JSON Pointer and the name of the violated rule [processor §5]. */

export interface WireIssue {
  /** JSON Pointer into the message; `` is the message itself. Holds names of the contract and of features only. */
  readonly path: string;
  /** Snake case, for example `unknown_member`. */
  readonly rule: string;
}

export type Wire<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly issue: WireIssue };

export const unknownMember = 'unknown_member';

export function good<T>(value: T): Wire<T> {
  return { ok: true, value };
}

export function bad(path: string, rule: string): { readonly ok: false; readonly issue: WireIssue } {
  return { ok: false, issue: { path, rule } };
}

/** A name as one step of a JSON Pointer. */
export function step(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The same issue as seen from a containing value. */
export function below(path: string, issue: WireIssue): WireIssue {
  return { path: path + issue.path, rule: issue.rule };
}
