/**
 * The parser [rules §1.3], [rules §4]: an editor document, or a compact topology, becomes a validated topology, or the
 * list of all its errors. It never throws on any JSON value. Wires define the flow, edges draw it.
 */
import { atOnce, type Steps } from '../base/turns.ts';
import type { SiteCatalogue } from '../site/catalogue.ts';
import { readCustomNode } from './custom-dialect.ts';
import { edgeWarnings } from './edges.ts';
import { buildTopology, type ParsedNode, type Unread } from './graph.ts';
import { type Fields, type Issue, Issues, isFields, pointerPart, Reader, utf8Bytes } from './issues.ts';
import { type FlowLimits, flowLimits } from './limits.ts';
import { type AnyKind, nativeKind, nativeTypes, nodeKind, type TopologyNode, topologyTypes } from './node/index.ts';
import type { ExtraPart } from './node/kind.ts';
import { type ContentContext, readAssignments, readVariables, readWrites } from './node-content.ts';
import { readWires } from './parse-wires.ts';
import type { Topology } from './topology.ts';

export type ParsedFlow =
  | { readonly ok: true; readonly topology: Topology; readonly warnings: readonly Issue[] }
  | { readonly ok: false; readonly issues: readonly Issue[] };

const nodeIdPattern = /^[A-Za-z0-9_-]{1,128}$/;
const nodeIdHint = 'use 1 to 128 letters, digits, _ or -';

/** Parses an editor document in either dialect. */
export function parseFlow(document: unknown, catalogue: SiteCatalogue, limits: FlowLimits = flowLimits): ParsedFlow {
  return atOnce(parseFlowSteps(document, catalogue, limits));
}

/** As `parseFlow`, one step per node. */
export function* parseFlowSteps(
  document: unknown,
  catalogue: SiteCatalogue,
  limits: FlowLimits = flowLimits,
): Steps<ParsedFlow> {
  const issues = new Issues();
  const warnings: Issue[] = [];
  const context = { catalogue, limits };
  if (!isFields(document)) return refused(issues, '', 'a flow is an object {nodes, edges}');
  const reader = new Reader(document, '', undefined, issues);
  if (reader.has('edges') && !Array.isArray(reader.get('edges')))
    reader.fault('invalid-field', 'edges', "'edges' must be a list", 'leave it out or send []');
  const entries = documentNodes(reader, limits);
  if (entries === undefined) return { ok: false, issues: issues.list };
  const { nodes, unread } = yield* readNodes(entries, issues, (entry) => readEditorNode(entry, context, warnings));
  const topology = yield* buildTopology(nodes, unread, limits, issues, warnings);
  if (issues.list.length > 0 || topology === undefined) return { ok: false, issues: issues.list };
  warnings.push(...edgeWarnings(reader.get('edges'), topology));
  return { ok: true, topology, warnings };
}

/** Parses the compact form `{start_node, nodes}`: a legacy rule, or a stored `nodes_json`. */
export function parseTopology(compact: unknown, catalogue: SiteCatalogue, limits: FlowLimits = flowLimits): ParsedFlow {
  return atOnce(parseTopologySteps(compact, catalogue, limits));
}

/** As `parseTopology`, one step per node. */
export function* parseTopologySteps(
  compact: unknown,
  catalogue: SiteCatalogue,
  limits: FlowLimits = flowLimits,
): Steps<ParsedFlow> {
  const issues = new Issues();
  const warnings: Issue[] = [];
  const context = { catalogue, limits };
  if (!isFields(compact)) return refused(issues, '', 'a topology is an object {start_node, nodes}');
  const reader = new Reader(compact, '', undefined, issues);
  reader.onlyKnown(['start_node', 'nodes']);
  const startNode = reader.text('start_node', 128);
  const entries = compactNodes(reader, limits);
  if (entries === undefined) return { ok: false, issues: issues.list };
  const { nodes, unread } = yield* readNodes(entries, issues, ({ id, reader: own }) => {
    const node = readCompactNode(own, context);
    return node === undefined ? undefined : { id, node, path: own.path, contentPath: own.path };
  });
  const topology = yield* buildTopology(nodes, unread, limits, issues, warnings);
  if (topology !== undefined && topology.start_node !== startNode) {
    const message = `start_node must name the start node '${topology.start_node}'`;
    issues.add('wrong-start', '/start_node', message, 'name the one node of type start');
  }
  if (issues.list.length > 0 || topology === undefined) return { ok: false, issues: issues.list };
  return { ok: true, topology, warnings };
}

function refused(issues: Issues, path: string, message: string): ParsedFlow {
  issues.add('invalid-field', path, message, 'send a JSON object');
  return { ok: false, issues: issues.list };
}

interface DocumentNode {
  readonly id: string;
  readonly reader: Reader;
  /** False for a second node with the same id: it is read for its issues only. */
  readonly first: boolean;
}

interface ReadNodes {
  readonly nodes: ParsedNode[];
  readonly unread: Unread;
}

function* readNodes(
  entries: readonly DocumentNode[],
  issues: Issues,
  read: (entry: DocumentNode) => ParsedNode | undefined,
): Steps<ReadNodes> {
  const nodes: ParsedNode[] = [];
  const unreadNodes = new Map<string, unknown>();
  const unreadNames = new Set<string>();
  for (const entry of entries) {
    yield;
    const before = issues.list.length;
    const parsed = read(entry);
    if (issues.list.length > before || !entry.first)
      for (const name of namesDeclaredBy(entry.reader.fields)) unreadNames.add(name);
    if (!entry.first) continue;
    if (parsed === undefined) unreadNodes.set(entry.id, typeOf(entry.reader.fields));
    else nodes.push(parsed);
  }
  return { nodes, unread: { nodes: unreadNodes, names: unreadNames } };
}

/** The declared type of a node, in either dialect. */
function typeOf(fields: Fields): unknown {
  return fields.type === 'custom' && isFields(fields.data) ? fields.data.type : fields.type;
}

/** Every name that a node is meant to declare, in any form, even if the rest of the node is invalid. */
function namesDeclaredBy(fields: Fields): string[] {
  const config = isFields(fields.data) && isFields(fields.data.config) ? fields.data.config : fields;
  const lists = [config.variables, config.parameters, config.assignments, config.rule];
  const entries = lists.flatMap((list: unknown): unknown[] => (Array.isArray(list) ? list : []));
  return [config, ...entries].flatMap((entry) =>
    isFields(entry) ? [entry.name, entry.output].filter((name) => typeof name === 'string') : [],
  );
}

function tooManyNodes(reader: Reader, count: number, limits: FlowLimits): void {
  const message = `${count} nodes; at most ${limits.nodesMaximum} are allowed`;
  reader.fault('too-many-nodes', 'nodes', message, 'split the rule in two');
}

/** The nodes of a compact form; undefined if there are none to read, or too many. */
function compactNodes(reader: Reader, limits: FlowLimits): DocumentNode[] | undefined {
  const members = reader.inner('nodes');
  if (members === undefined) return undefined;
  const ids = Object.keys(members.fields);
  if (ids.length > limits.nodesMaximum) {
    tooManyNodes(reader, ids.length, limits);
    return undefined;
  }
  return ids.flatMap((id) => {
    const fields = members.get(id);
    const path = `/nodes/${pointerPart(id)}`;
    if (!isFields(fields)) {
      reader.issues.add('invalid-field', path, 'a node is an object', 'for example {"type": "end"}', id);
      return [];
    }
    // The id is part of every path below it: one that is far too long would be in each issue of its node.
    if (!checkNodeId(id, path, reader.issues)) return [];
    checkNodeSize(fields, path, id, limits, reader.issues);
    return [{ id, reader: new Reader(fields, path, id, reader.issues), first: true }];
  });
}

/** The nodes of an editor document; undefined if there are none to read, or too many. */
function documentNodes(reader: Reader, limits: FlowLimits): DocumentNode[] | undefined {
  const nodes = reader.get('nodes');
  if (!Array.isArray(nodes) || nodes.length === 0) {
    const hint = 'the smallest flow is a start that is wired to an end';
    reader.fault('invalid-field', 'nodes', "'nodes' must be a list with a start and an end node", hint);
    return undefined;
  }
  if (nodes.length > limits.nodesMaximum) {
    tooManyNodes(reader, nodes.length, limits);
    return undefined;
  }
  const seen = new Set<string>();
  return nodes.flatMap((entry: unknown, index) => {
    const path = `/nodes/${index}`;
    if (!isFields(entry)) {
      reader.issues.add('invalid-field', path, 'a node is an object', 'for example {"id": "end", "type": "end", …}');
      return [];
    }
    const id = Object.hasOwn(entry, 'id') ? entry.id : undefined;
    if (typeof id !== 'string') {
      reader.issues.add('invalid-node-id', `${path}/id`, 'a node needs a text as id', nodeIdHint);
      return [];
    }
    checkNodeId(id, `${path}/id`, reader.issues);
    const first = !seen.has(id);
    if (!first)
      reader.issues.add(
        'duplicate-node',
        `${path}/id`,
        `node id '${id}' is used twice`,
        'ids are unique in a flow',
        id,
      );
    seen.add(id);
    checkNodeSize(entry, path, id, limits, reader.issues);
    return [{ id, reader: new Reader(entry, path, id, reader.issues), first }];
  });
}

function checkNodeId(id: string, path: string, issues: Issues): boolean {
  if (nodeIdPattern.test(id) && id !== '__proto__') return true;
  issues.add('invalid-node-id', path, 'the node id is not allowed', nodeIdHint, id);
  return false;
}

function checkNodeSize(fields: Fields, path: string, id: string, limits: FlowLimits, issues: Issues): void {
  const bytes = utf8Bytes(JSON.stringify(fields));
  if (bytes <= limits.nodeBytesMaximum) return;
  const message = `the node has ${bytes} bytes; at most ${limits.nodeBytesMaximum} are allowed`;
  issues.add('node-too-large', path, message, 'spread it over several nodes', id);
}

function readEditorNode(entry: DocumentNode, context: ContentContext, warnings: Issue[]): ParsedNode | undefined {
  const { id, reader } = entry;
  checkPosition(reader);
  const type = reader.get('type');
  if (type === 'custom') return readCustomNode(id, reader, context, warnings);
  const kind = nativeKind(type);
  if (kind === undefined) {
    reader.fault(
      'unknown-node-type',
      'type',
      `unknown node type ${JSON.stringify(type) ?? 'undefined'}`,
      `known types are ${nativeTypes.join(', ')}, custom`,
    );
    return undefined;
  }
  const contentPath = `${reader.path}/data/config`;
  const config = configOf(reader, kind);
  if (config === undefined) return undefined;
  config.onlyKnown([...kind.fields, 'wires']);
  const node = readContent(kind, config, context, []);
  return node === undefined ? undefined : { id, node, path: reader.path, contentPath };
}

function checkPosition(reader: Reader): void {
  const position = reader.get('position');
  if (isFields(position) && Number.isFinite(position.x) && Number.isFinite(position.y)) return;
  reader.fault(
    'invalid-field',
    'position',
    "'position' must be {x, y} with finite numbers",
    'for example {"x": 0, "y": 0}',
  );
}

/** The config of a node; a simple one may omit it. */
function configOf(reader: Reader, { bare }: AnyKind): Reader | undefined {
  const empty = new Reader({}, `${reader.path}/data/config`, reader.nodeId, reader.issues);
  if (bare === true && !reader.has('data')) return empty;
  const data = reader.inner('data');
  if (data === undefined) return undefined;
  if (bare === true && !data.has('config')) return empty;
  return data.inner('config');
}

function readCompactNode(reader: Reader, context: ContentContext): TopologyNode | undefined {
  const kind = nodeKind(reader.get('type'));
  if (kind === undefined) {
    const hint = `known types are ${topologyTypes.join(', ')}`;
    reader.fault('unknown-node-type', 'type', 'unknown execution node type', hint);
    return undefined;
  }
  const { fields, extras } = kind;
  const before = (['variables', 'assignments'] as const).filter((part) => extras.includes(part));
  const after = (['writes'] as const).filter((part) => extras.includes(part));
  reader.onlyKnown(['type', ...before, ...fields, ...after, 'wires']);
  return readContent(kind, reader, context, extras);
}

/** Members in the order in which they are stored; `extras` are those that a node may have in addition. */
function readContent(
  { type, read, outputs }: AnyKind,
  reader: Reader,
  context: ContentContext,
  extras: readonly ExtraPart[],
): TopologyNode | undefined {
  const has = (part: ExtraPart): boolean => extras.includes(part) && reader.has(part);
  const variables = has('variables') ? { variables: readVariables(reader, context, true) } : {};
  const assignments = has('assignments') ? { assignments: readAssignments(reader, context, true) } : {};
  const own = read(reader, context);
  const writes = has('writes') ? { writes: readWrites(reader, context, true) } : {};
  const wires = readWires(reader, context.limits, own?.outputs ?? outputs);
  if (own === undefined) return undefined;
  // Each kind reads the content of a node of its type: the union follows from the registry.
  return { type, ...variables, ...assignments, ...own.content, ...writes, wires } as TopologyNode;
}
