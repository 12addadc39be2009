/** One-click fixes for problems with one obvious solution [rules §2.3]. */
import { meantIn } from '../../../src/base/nearest-name.ts';
import { isFields } from '../../../src/rules/issues.ts';
import { fixWords as words } from '../strings/problems.ts';
import { addNode, changeConfig, setBranches, withEdges } from './edit-flow.ts';
import { declarations, renameVariable, withName } from './edit-names.ts';
import { connect, removeNodes } from './edit-wires.ts';
import { entriesOf, type FlowDocument, nodeOf, textOf } from './flow-document.ts';
import type { Problem } from './problems.ts';

export interface Fix {
  readonly label: string;
  apply(flow: FlowDocument): FlowDocument;
}

export function fixOf(problem: Problem, flow: FlowDocument): Fix | null {
  if (problem.part !== 'flow') return null;
  return fixes[problem.code]?.(problem, flow) ?? null;
}

type FindFix = (problem: Problem, flow: FlowDocument) => Fix | null;

const fixes: Readonly<Record<string, FindFix | undefined>> = {
  'undeclared-variable': meantName,
  'unknown-function': meantName,
  'duplicate-variable': anotherName,
  'unreachable-node': removal,
  'branch-without-wire': wireToEnd,
  'shadowed-branch': branchFirst,
  'no-end': () => ({ label: words.addEnd, apply: (flow) => withEnd(flow).flow }),
  'edges-differ': () => ({ label: words.redraw, apply: withEdges }),
};

/** The entry of a node's list at a path from the parser. */
function entryAt({ node_id: id, path }: Problem, flow: FlowDocument) {
  const [, list, at, member] = /\/config\/(\w+)\/(\d+)(?:\/(\w+))?$/.exec(path) ?? [];
  const node = id === undefined ? undefined : nodeOf(flow, id);
  if (id === undefined || node === undefined || list === undefined) return null;
  const entry = entriesOf(node, list)[Number(at)];
  return entry === undefined ? null : { id, list, at: Number(at), entry, member };
}

/** Replaces a misspelt name, in an expression or a selection, by the suggested one. */
function meantName(problem: Problem, flow: FlowDocument): Fix | null {
  const meant = meantIn(problem.hint ?? '') ?? meantIn(problem.message);
  const written = quoted(problem.message);
  const { node_id: id } = problem;
  if (meant === undefined || written === undefined || id === undefined) return null;
  const place = entryAt(problem, flow);
  const member = /\/config\/(\w+)$/.exec(problem.path)?.[1];
  const renamed = (text: unknown): unknown => (typeof text === 'string' ? withName(text, written, meant) : text);
  return {
    label: words.useName(meant),
    apply: (flow) =>
      changeConfig(flow, id, (config) => {
        if (place === null) return member === undefined ? config : { ...config, [member]: renamed(config[member]) };
        const entries = config[place.list];
        if (!Array.isArray(entries)) return config;
        return {
          ...config,
          [place.list]: entries.map((entry: unknown, at) => (at === place.at ? readAs(entry, renamed) : entry)),
        };
      }),
  };
}

/** An entry with changed expressions; the declared name does not change. */
function readAs(entry: unknown, change: (text: unknown) => unknown): unknown {
  if (!isFields(entry)) return entry;
  const read = ['when', 'expression', 'value'].filter((member) => Object.hasOwn(entry, member));
  return { ...entry, ...Object.fromEntries(read.map((member) => [member, change(entry[member])])) };
}

/** Renames the second declaration of a name in one node. */
function anotherName({ node_id: id, message }: Problem, flow: FlowDocument): Fix | null {
  const name = quoted(message);
  const node = id === undefined ? undefined : nodeOf(flow, id);
  if (name === undefined || id === undefined || node === undefined) return null;
  const places = ['variables', 'parameters', 'assignments'].flatMap((list) =>
    entriesOf(node, list).flatMap((entry, at) => (textOf(entry['name']) === name ? [{ list, at }] : [])),
  );
  const second = places[1];
  if (second === undefined) return null;
  let number = 2;
  while (declarations(flow, `${name}_${number}`) > 0) number++;
  const free = `${name}_${number}`;
  return { label: words.nameIt(free), apply: (flow) => renameVariable(flow, id, second, free) };
}

function removal({ node_id: id }: Problem): Fix | null {
  return id === undefined ? null : { label: words.remove, apply: (flow) => removeNodes(flow, new Set([id])) };
}

/** Connects an unconnected output to the end, so that a run may end there without a write. */
function wireToEnd(problem: Problem, flow: FlowDocument): Fix | null {
  const branch = entryAt(problem, flow);
  if (branch === null) return null;
  return {
    label: words.wireToEnd,
    apply(flow) {
      const ended = withEnd(flow);
      return connect(ended.flow, branch.id, textOf(branch.entry['name']), ended.id);
    },
  };
}

function branchFirst(problem: Problem, flow: FlowDocument): Fix | null {
  const branch = entryAt(problem, flow);
  if (branch === null) return null;
  return {
    label: words.moveFirst,
    apply(flow) {
      const node = nodeOf(flow, branch.id);
      if (node === undefined) return flow;
      const branches = entriesOf(node, 'branches');
      return setBranches(flow, branch.id, [branch.entry, ...branches.filter((_, at) => at !== branch.at)]);
    },
  };
}

/** The flow with an end node: its own, or a new one to the right of all others. */
function withEnd(flow: FlowDocument): { readonly flow: FlowDocument; readonly id: string } {
  const end = flow.nodes.find(({ type }) => type === 'end');
  if (end !== undefined) return { flow, id: end.id };
  const right = Math.max(0, ...flow.nodes.map(({ position }) => position.x));
  const { document, id } = addNode(flow, 'end', { x: right + 320, y: 0 });
  return { flow: document, id };
}

function quoted(message: string): string | undefined {
  return /'([^']+)'/.exec(message)?.[1];
}
