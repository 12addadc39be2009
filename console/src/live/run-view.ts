/** A run on the canvas: the taken nodes and wires, the result of each branch, the result of each write. */
import { createContext, useContext } from 'react';
import { parseExpression } from '../../../src/rules/expression/parse.ts';
import { isFields } from '../../../src/rules/issues.ts';
import type { ExecutionRecord } from '../../../src/rules/record.ts';
import { type FlowDocument, wiresOf } from '../editor/flow-document.ts';
import { shownNumber } from '../parts/number.ts';
import type { ShownVariable } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import type { RunRecord } from './stream.ts';

const words = t.runs;

/** A record of the service, or of a trial in the page. */
export type AnyRecord = RunRecord | ExecutionRecord;

export interface ShownRun {
  readonly record: AnyRecord;
  /** `draft`: the outcome of the drawing on live values; nothing ran. */
  readonly kind: 'live' | 'history' | 'trial' | 'draft';
  readonly visited: ReadonlySet<string>;
  /** The taken output by node; nodes without a choice take `default`. */
  readonly outputs: ReadonlyMap<string, string>;
  /** Errors by node; a write shows its error in its own line. */
  readonly troubles: ReadonlyMap<string, string>;
  /** The rule's inputs now, with quality and age; for a live run only. */
  readonly variables: readonly ShownVariable[];
}

export const runContext = createContext<ShownRun | null>(null);

export function useShownRun(): ShownRun | null {
  return useContext(runContext);
}

export function shownRun(
  record: AnyRecord,
  kind: ShownRun['kind'],
  variables: readonly ShownVariable[] = [],
): ShownRun {
  const outputs = new Map<string, string>();
  for (const id of record.execution_path) outputs.set(id, switchDetails(record, id)?.output ?? 'default');
  // A node at which the run ended has no taken output.
  if (record.error?.node_id !== undefined) outputs.delete(record.error.node_id);
  return { record, kind, visited: new Set(record.execution_path), outputs, troubles: troublesOf(record), variables };
}

function troublesOf(record: AnyRecord): Map<string, string> {
  const troubles = new Map<string, string>();
  for (const { node_id: id, success } of record.actions_executed) if (!success) troubles.set(id, '');
  if (record.error?.node_id !== undefined) troubles.set(record.error.node_id, errorWords(record));
  return troubles;
}

/** Why the run failed or was skipped; empty for other runs. */
export function errorWords({ error }: AnyRecord): string {
  if (error === null) return '';
  if (error.code === 'missing-input') return words.missing((error.missing ?? []).join(', '));
  if (error.code === 'not-finite') return words.notFiniteAt(error.node_id ?? '');
  return error.message;
}

export interface BranchResult {
  readonly name: string;
  /** Null for a branch that was not evaluated. */
  readonly result: boolean | null;
}

export function switchDetails(record: AnyRecord, nodeId: string): { branches: BranchResult[]; output: string } | null {
  const details = record.node_details[nodeId];
  if (!isFields(details) || !Array.isArray(details['branches']) || typeof details['output'] !== 'string') return null;
  const branches = details['branches'].flatMap((branch: unknown): BranchResult[] => {
    if (!isFields(branch) || typeof branch['name'] !== 'string') return [];
    return [{ name: branch['name'], result: typeof branch['result'] === 'boolean' ? branch['result'] : null }];
  });
  return { branches, output: details['output'] };
}

/** Keys (`source:output>target`) of the taken wires. */
export function takenEdges(run: ShownRun, document: FlowDocument): Set<string> {
  const taken = new Set<string>();
  for (const node of document.nodes) {
    const output = run.outputs.get(node.id);
    if (output === undefined) continue;
    for (const target of wiresOf(node)[output] ?? [])
      if (run.visited.has(target)) taken.add(`${node.id}:${output}>${target}`);
  }
  return taken;
}

/** `soc = 35.2, limit = 40`: the operands of an expression with the values of the run; empty without operands. */
export function operandsOf(expression: string, values: AnyRecord['variable_values']): string {
  const parsed = parseExpression(expression);
  if (!parsed.ok) return '';
  return [...parsed.expression.variables]
    .filter((name) => Object.hasOwn(values, name))
    .map((name) => `${name} = ${shownNumber(values[name])}`)
    .join(', ');
}
