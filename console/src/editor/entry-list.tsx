/** A list of entries of one node (points read, branches, writes …), each in a frame with buttons to remove or move it. */
import { ActionIcon, Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Fields } from '../../../src/rules/issues.ts';
import { PlusIcon, TrashIcon } from '../shell/icons.tsx';
import { t } from '../strings/index.ts';
import { drawnFlow, useDraft, useDraftStore } from './draft-store.ts';
import { setConfig } from './edit-flow.ts';
import { useEditor, useFieldErrors } from './editor-context.ts';
import { entriesOf, type FlowNode } from './flow-document.ts';
import classes from './inspector.module.css';
import { configPath } from './problems.ts';
import { type VisibleName, visibleNames } from './visible-names.ts';

export interface NodeForm {
  readonly node: FlowNode;
  /** Position in the document, for the paths of problems. */
  readonly index: number;
}

/** Reads and changes one list of a node's config. */
export function useEntries({ node, index }: NodeForm, list: string) {
  const store = useDraftStore();
  const errorAt = useFieldErrors();
  const entries = entriesOf(node, list);
  const put = (next: readonly Fields[], about?: string): void =>
    store.editFlow((flow) => setConfig(flow, node.id, list, next), about);
  return {
    entries,
    put,
    /** Changes members of one entry; undefined removes a member. */
    change(at: number, members: Fields): void {
      const next = entries.map((entry, position) => (position === at ? merged(entry, members) : entry));
      put(next, `${node.id} ${list} ${at} ${Object.keys(members).join(' ')}`);
    },
    add: (entry: Fields): void => put([...entries, entry]),
    remove: (at: number): void => put(entries.filter((_, position) => position !== at)),
    path: (at: number, field: string): string => configPath(index, list, at, field),
    /** The parser's error for one field, or for the entry as a whole. */
    error(at: number, field: string, own = true): string | undefined {
      return errorAt(configPath(index, list, at, field)) ?? (own ? undefined : errorAt(configPath(index, list, at)));
    },
  };
}

/** The names that an expression of the node may use. */
export function useNames({ node }: NodeForm): VisibleName[] {
  const { history } = useDraft();
  const { catalogue } = useEditor();
  return visibleNames(drawnFlow(history.present), node.id, catalogue);
}

function merged(entry: Fields, members: Fields): Fields {
  const next: Record<string, unknown> = { ...entry };
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) delete next[name];
    else next[name] = value;
  }
  return next;
}

export function EntryGroup({ legend, children }: { legend: string; children: ReactNode }) {
  return (
    <fieldset className={classes['group']}>
      <legend className={classes['legend']}>{legend}</legend>
      {children}
    </fieldset>
  );
}

export function RemoveEntry({ name, onRemove }: { name: string; onRemove: () => void }) {
  const { readOnly } = useEditor();
  if (readOnly) return null;
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t.nodes.removeEntry(name)} onClick={onRemove}>
      <TrashIcon size={16} />
    </ActionIcon>
  );
}

export function AddEntry({ label, onAdd }: { label: string; onAdd: () => void }) {
  const { readOnly } = useEditor();
  if (readOnly) return null;
  return (
    <Button variant="default" size="compact-sm" leftSection={<PlusIcon size={14} />} onClick={onAdd} w="fit-content">
      {label}
    </Button>
  );
}
