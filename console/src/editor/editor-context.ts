/** State shared by the parts of the editor: the site, the problems, the selection, and the permission to edit. */
import { createContext, useContext } from 'react';
import type { Topology } from '../../../src/rules/topology.ts';
import { type Problem, problemsAt } from './problems.ts';
import type { ConsoleCatalogue } from './site-catalogue.ts';

export interface EditorView {
  readonly catalogue: ConsoleCatalogue;
  readonly problems: readonly Problem[];
  /** The topology of the draft; null while it has errors. */
  readonly topology: Topology | null;
  readonly selected: ReadonlySet<string>;
  readonly readOnly: boolean;
  select(ids: readonly string[]): void;
  /** Selects the node and, with a path, focuses the field of that path. */
  edit(nodeId: string, path?: string): void;
  /** Visited fields, by path: a missing value in others is not shown as an error yet. */
  readonly touched: ReadonlySet<string>;
  touch(path: string): void;
}

export const editorContext = createContext<EditorView | null>(null);

/** The error to show at a field of the flow. */
export function useFieldErrors(): (path: string) => string | undefined {
  const { problems, touched } = useEditor();
  return (path) =>
    problemsAt(problems, 'flow', path).find(
      ({ severity, isMissing }) => severity === 'error' && (!isMissing || touched.has(path)),
    )?.message;
}

export function useEditor(): EditorView {
  const view = useContext(editorContext);
  if (view === null) throw new Error('there is no editor here');
  return view;
}
