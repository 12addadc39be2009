/** The branches of a decision, in order, each with a name and a condition. */
import { ActionIcon, Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Fields } from '../../../src/rules/issues.ts';
import { later } from '../parts/later.tsx';
import { t } from '../strings/index.ts';
import { useDraftStore } from './draft-store.ts';
import { setBranches } from './edit-flow.ts';
import { renameBranch } from './edit-names.ts';
import { useEditor } from './editor-context.ts';
import { AddEntry, EntryGroup, type NodeForm, RemoveEntry, useEntries, useNames } from './entry-list.tsx';
import { ExpressionField } from './expression-field.tsx';
import { textOf } from './flow-document.ts';
import classes from './inspector.module.css';
import { type NameFault, NameField } from './name-field.tsx';
import { elseOutput } from './node-kinds.ts';
import type { VisibleName } from './visible-names.ts';

const words = t.nodes;
const ConditionBuilder = later(async () => (await import('./condition-builder.tsx')).ConditionBuilder);

export function DecisionForm(form: NodeForm) {
  const store = useDraftStore();
  const { readOnly } = useEditor();
  const names = useNames(form);
  const { entries, error, path, change } = useEntries(form, 'branches');
  const { node } = form;
  const put = (next: readonly Fields[]): void => store.editFlow((flow) => setBranches(flow, node.id, next));
  const swap = (at: number, by: number): void => {
    const next = [...entries];
    const [moved] = next.splice(at, 1);
    if (moved !== undefined) next.splice(at + by, 0, moved);
    put(next);
  };
  return (
    <EntryGroup legend={words.branches}>
      {entries.map((entry, at) => {
        const name = textOf(entry['name']);
        const others = entries.filter((_, position) => position !== at).map((other) => textOf(other['name']));
        return (
          <div key={at} className={classes['entry']}>
            <div className={classes['entryHead']}>
              <NameField
                label={words.branch}
                name={name}
                readOnly={readOnly}
                path={path(at, 'name')}
                error={error(at, 'name', false)}
                faultOf={(text) => branchFault(text, others)}
                onRename={(to) =>
                  store.editFlow((flow) => renameBranch(flow, node.id, at, to), `${node.id} branch ${at}`)
                }
              />
              {!readOnly && (
                <>
                  <Step label={words.up(name)} disabled={at === 0} onClick={() => swap(at, -1)}>
                    ↑
                  </Step>
                  <Step label={words.down(name)} disabled={at === entries.length - 1} onClick={() => swap(at, 1)}>
                    ↓
                  </Step>
                </>
              )}
              <RemoveEntry name={name} onRemove={() => put(entries.filter((_, position) => position !== at))} />
            </div>
            <Condition
              value={textOf(entry['when'])}
              names={names}
              path={path(at, 'when')}
              error={error(at, 'when')}
              onChange={(when) => change(at, { when })}
            />
          </div>
        );
      })}
      <AddEntry label={words.addBranch} onAdd={() => put([...entries, { name: freshBranch(entries), when: '' }])} />
      <p className={classes['about']}>{words.elseNote}</p>
    </EntryGroup>
  );
}

interface ConditionParts {
  readonly value: string;
  readonly names: readonly VisibleName[];
  readonly path: string;
  readonly error: string | undefined;
  readonly onChange: (when: string) => void;
}

/** Entered as an expression, or built from its parts. */
function Condition({ value, names, path, error, onChange }: ConditionParts) {
  const { readOnly } = useEditor();
  const [isBuilding, setBuilding] = useState(false);
  const { builder } = words;
  return (
    <>
      <ExpressionField
        label={words.when}
        value={value}
        names={names}
        readOnly={readOnly}
        path={path}
        error={error}
        onChange={onChange}
      />
      {!readOnly && (
        <Button
          variant="subtle"
          size="compact-sm"
          w="fit-content"
          aria-expanded={isBuilding}
          onClick={() => setBuilding(!isBuilding)}
        >
          {isBuilding ? builder.close : builder.open}
        </Button>
      )}
      {isBuilding && (
        <ConditionBuilder
          names={names}
          onUse={(when) => {
            onChange(when);
            setBuilding(false);
          }}
        />
      )}
    </>
  );
}

/** Two branches with the same name could not be distinguished, nor could their wires. */
function branchFault(text: string, others: readonly string[]): NameFault | null {
  const faults = words.nameFaults;
  if (text === '') return { message: faults.empty, onLeave: false };
  if (text === elseOutput) return { message: faults.else, onLeave: false };
  return others.includes(text) ? { message: faults.branch, onLeave: false } : null;
}

function Step({
  label,
  disabled,
  onClick,
  children,
}: {
  label: string;
  disabled: boolean;
  onClick: () => void;
  children: ReactNode;
}) {
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" aria-label={label} disabled={disabled} onClick={onClick}>
      {children}
    </ActionIcon>
  );
}

function freshBranch(entries: readonly Fields[]): string {
  const names = entries.map((entry) => textOf(entry['name']));
  for (let number = entries.length + 1; ; number++)
    if (!names.includes(words.newBranch(number))) return words.newBranch(number);
}
