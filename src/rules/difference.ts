/**
 * The semantic difference of two rules [rules §1.5]: changed settings, nodes, wires and actuators, by node id. A move or a label
 * is not a change of logic.
 */
import { type Fields, isFields } from './issues.ts';
import type { NodeParts, Write } from './node/parts.ts';

const changeClasses = ['layout', 'wording', 'settings', 'expression', 'wiring', 'added', 'removed'] as const;
type ChangeClass = (typeof changeClasses)[number];

/** A rule in comparable form. Documents are parsed JSON. */
export interface ComparedRule {
  /** Such as name, priority and trigger; both rules have the same members. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The editor's document; null for a compact rule. */
  readonly flow: unknown;
  /** Nodes by id, in either dialect's common form [rules §4.7]; empty for a rule that has no flow yet. */
  readonly nodes: ReadonlyMap<string, NodeParts>;
}

interface FieldChange {
  /** JSON Pointer below the node. */
  readonly path: string;
  /** Null before an addition and after a removal. */
  readonly before: unknown;
  readonly after: unknown;
}

interface NodeChange {
  readonly id: string;
  readonly label: string | null;
  readonly fields: readonly FieldChange[];
}

interface WireEnd {
  readonly from: string;
  readonly output: string;
  readonly to: string;
}

type NodeHead = Pick<NodeChange, 'id' | 'label'>;

/** The change of the writes to an action point: added, removed, another value, or the same value after a changed node. */
interface ActuatorChange {
  readonly instance: number;
  readonly point: number;
  readonly change: 'added' | 'removed' | 'value' | 'condition';
}

export interface RuleDifference {
  readonly classes: readonly ChangeClass[];
  readonly settings: readonly { readonly field: string; readonly before: unknown; readonly after: unknown }[];
  readonly nodes: {
    readonly added: readonly NodeHead[];
    readonly removed: readonly NodeHead[];
    readonly changed: readonly NodeChange[];
  };
  readonly wires: { readonly added: readonly WireEnd[]; readonly removed: readonly WireEnd[] };
  readonly actuators: readonly ActuatorChange[];
}

/** True if the behaviour of the rule cannot differ. */
export function sameLogic({ classes }: RuleDifference): boolean {
  return classes.every((name) => name === 'layout' || name === 'wording');
}

export function ruleDifference(before: ComparedRule, after: ComparedRule): RuleDifference {
  const classes = new Set<ChangeClass>();
  const settings = Object.keys(after.settings).flatMap((field) => {
    const [old, now] = [before.settings[field] ?? null, after.settings[field] ?? null];
    return isEqual(old, now) ? [] : [{ field, before: old, after: now }];
  });
  if (settings.length > 0) classes.add('settings');
  const old = shownNodes(before);
  const now = shownNodes(after);
  const added = [...now].filter(([id]) => !old.has(id)).map(headOf);
  const removed = [...old].filter(([id]) => !now.has(id)).map(headOf);
  if (added.length > 0) classes.add('added');
  if (removed.length > 0) classes.add('removed');

  const touched = new Set([...added, ...removed].map(({ id }) => id));
  const changed = [...now].flatMap(([id, node]): NodeChange[] => {
    const was = old.get(id);
    if (was === undefined) return [];
    const { fields, kinds } = nodeChanges(was, node);
    for (const kind of kinds) classes.add(kind);
    if (kinds.has('expression') || kinds.has('wiring')) touched.add(id);
    return fields.length === 0 ? [] : [{ ...headOf([id, node]), fields }];
  });
  const wires = {
    added: wiresBeyond(after.nodes, before.nodes),
    removed: wiresBeyond(before.nodes, after.nodes),
  };
  if (wires.added.length + wires.removed.length > 0) classes.add('wiring');
  for (const { from } of [...wires.added, ...wires.removed]) touched.add(from);
  const [drawn, draws] = [outsideNodes(before.flow), outsideNodes(after.flow)];
  if (!isEqual(drawn.drawing, draws.drawing)) classes.add('layout');
  if (!isEqual(drawn.origin, draws.origin)) classes.add('wording');
  return {
    classes: changeClasses.filter((name) => classes.has(name)),
    settings,
    nodes: { added, removed, changed },
    wires,
    actuators: actuatorChanges(before.nodes, after.nodes, touched),
  };
}

/** The document's nodes, with labels and positions; for a compact rule those of its topology. */
function shownNodes({ flow, nodes }: ComparedRule): ReadonlyMap<string, Fields> {
  if (!isFields(flow)) return new Map([...nodes].map(([id, node]) => [id, { ...node }]));
  const listed: readonly unknown[] = Array.isArray(flow['nodes']) ? flow['nodes'] : [];
  return new Map(
    listed.filter(isFields).flatMap((node) => (typeof node['id'] === 'string' ? [[node['id'], node] as const] : [])),
  );
}

function headOf([id, node]: readonly [string, Fields]): NodeHead {
  const label = isFields(node['data']) ? node['data']['label'] : undefined;
  return { id, label: typeof label === 'string' && label !== '' ? label : null };
}

/** Members of a node that are its content; all others are drawing. */
function contentOf({ type, data, ...drawing }: Fields): { content: Fields; drawing: Fields } {
  // A node of the compact form is all content.
  if (data === undefined && !('position' in drawing)) return { content: { type, ...drawing }, drawing: {} };
  const members = isFields(data) ? data : {};
  return { content: { type, data: { ...members, config: members['config'] ?? {} } }, drawing };
}

/** Members of a variable of the second dialect that are only for the reader. */
const wordingMembers = new Set(['label', 'description', 'instance_name', 'point_name', 'unit', 'id']);

function nodeChanges(before: Fields, after: Fields): { fields: FieldChange[]; kinds: Set<ChangeClass> } {
  const kinds = new Set<ChangeClass>();
  const fields: FieldChange[] = [];
  const [old, now] = [contentOf(before), contentOf(after)];
  if (!isEqual(old.drawing, now.drawing)) kinds.add('layout');
  compare(old.content, now.content, '', (path, was, is) => {
    const kind = classOf(path);
    // Added and removed wires have a list of their own; this compares the order of an output's targets.
    if (kind === 'wiring' && path.includes('/wires') && !isReordered(was, is)) return;
    kinds.add(kind);
    fields.push({ path, before: was ?? null, after: is ?? null });
  });
  return { fields, kinds };
}

function classOf(path: string): ChangeClass {
  const parts = path.slice(1).split('/');
  // Members of a node's data other than type and content are for the reader.
  if (parts[0] === 'data' && parts[1] !== 'config' && parts[1] !== 'type') return 'wording';
  const content = parts.slice(parts[0] === 'data' ? 2 : 0);
  const [list, , member = ''] = content;
  if (list === 'wires') return 'wiring';
  if (list === 'variables' && wordingMembers.has(member)) return 'wording';
  return member === 'name' && (list === 'branches' || list === 'rule') ? 'wiring' : 'expression';
}

function isReordered(before: unknown, after: unknown): boolean {
  if (!Array.isArray(before) || !Array.isArray(after)) return false;
  return before.length === after.length && before.every((entry: unknown) => after.includes(entry));
}

type Report = (path: string, before: unknown, after: unknown) => void;

/** Names the smallest parts that differ. */
function compare(before: unknown, after: unknown, path: string, report: Report): void {
  if (isEqual(before, after)) return;
  if (isFields(before) && isFields(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      compare(before[name], after[name], `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, report);
  } else if (Array.isArray(before) && Array.isArray(after)) compareLists(before, after, path, report);
  else report(path, before, after);
}

/** Entries at the same positions; if an entry was added, removed or moved, the list as a whole. */
function compareLists(before: readonly unknown[], after: readonly unknown[], path: string, report: Report): void {
  const moved = before.some((entry, index) => {
    const name = nameOf(entry);
    return name !== undefined && name !== nameOf(after[index]) && after.some((other) => nameOf(other) === name);
  });
  if (before.length !== after.length || moved || !before.every(isFields)) report(path, before, after);
  else for (const [index, entry] of before.entries()) compare(entry, after[index], `${path}/${index}`, report);
}

function nameOf(entry: unknown): unknown {
  return isFields(entry) ? entry['name'] : undefined;
}

function wiresBeyond(nodes: ReadonlyMap<string, NodeParts>, others: ReadonlyMap<string, NodeParts>): WireEnd[] {
  return [...nodes].flatMap(([from, { wires }]) =>
    Object.entries(wires).flatMap(([output, targets]) => {
      const known = others.get(from)?.wires[output] ?? [];
      return targets.filter((to) => !known.includes(to)).map((to) => ({ from, output, to }));
    }),
  );
}

/** Everything but nodes and wires: edges, view, metadata. */
/** Members of a document other than its nodes; the template that it was made from is for the reader. */
function outsideNodes(flow: unknown): { readonly drawing: unknown; readonly origin: unknown } {
  if (!isFields(flow)) return { drawing: null, origin: null };
  const { nodes: _, from_template: origin, ...drawing } = flow;
  return { drawing, origin };
}

interface Written {
  readonly instance: number;
  readonly point: number;
  /** By node: its writes. */
  readonly values: Readonly<Record<string, readonly Write['value'][]>>;
  /** A changed node is upstream of a write, or is one. */
  readonly isTouched: boolean;
}

function actuatorChanges(
  before: ReadonlyMap<string, NodeParts>,
  after: ReadonlyMap<string, NodeParts>,
  touched: ReadonlySet<string>,
): ActuatorChange[] {
  const old = writtenBy(before, touched);
  const now = writtenBy(after, touched);
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((key): ActuatorChange[] => {
    const [was, is] = [old.get(key), now.get(key)];
    const known = is ?? was;
    if (known === undefined) return [];
    const { instance, point } = known;
    if (was === undefined) return [{ instance, point, change: 'added' }];
    if (is === undefined) return [{ instance, point, change: 'removed' }];
    if (!isEqual(was.values, is.values)) return [{ instance, point, change: 'value' }];
    return was.isTouched || is.isTouched ? [{ instance, point, change: 'condition' }] : [];
  });
}

function writtenBy(nodes: ReadonlyMap<string, NodeParts>, touched: ReadonlySet<string>): ReadonlyMap<string, Written> {
  const behind = reachedFrom(nodes, touched);
  const written = new Map<string, Written>();
  for (const [id, { writes = [] }] of nodes)
    for (const { instance, point_type: kind, point, value } of writes) {
      const key = `${instance}:${kind}:${point}`;
      const known = written.get(key);
      const values = { ...known?.values, [id]: [...(known?.values[id] ?? []), value] };
      written.set(key, { instance, point, values, isTouched: known?.isTouched === true || behind.has(id) });
    }
  return written;
}

/** The given nodes, and every node downstream of them. */
function reachedFrom(nodes: ReadonlyMap<string, NodeParts>, from: ReadonlySet<string>): ReadonlySet<string> {
  const reached = new Set<string>();
  const waiting = [...from];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (reached.has(id)) continue;
    reached.add(id);
    waiting.push(...Object.values(nodes.get(id)?.wires ?? {}).flat());
  }
  return reached;
}

/** Equal as JSON; the order of members does not count. */
function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((entry, index) => isEqual(entry, other[index]));
  if (!isFields(one) || !isFields(other)) return false;
  const names = Object.keys(one).filter((name) => one[name] !== undefined);
  if (names.length !== Object.keys(other).filter((name) => other[name] !== undefined).length) return false;
  return names.every((name) => isEqual(one[name], other[name]));
}
