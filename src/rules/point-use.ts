/** A rule's use of one point: whether it reads it, the values that it is compared with, and the nodes that write it [points §8.4]. */
import type { PointFacts, PointRef, SiteCatalogue } from '../site/catalogue.ts';
import type { BinaryOperator, ExpressionNode } from './expression/parse.ts';
import type { NodeParts, VariableRead } from './node/parts.ts';
import type { Topology } from './topology.ts';

type Comparison = Extract<BinaryOperator, '<' | '<=' | '>' | '>=' | '==' | '!='>;

/** A value that the rule compares the reading with, now. */
export interface Threshold {
  readonly node_id: string;
  /** The branch or the variable that the comparison belongs to. */
  readonly name: string;
  /** With the reading on its left. */
  readonly operator: Comparison;
  readonly value: number;
}

interface PointUse {
  readonly reads: boolean;
  readonly thresholds: readonly Threshold[];
  /** Ids of the nodes that write it. */
  readonly writes: readonly string[];
}

/** The same comparison with its sides swapped. */
const turned: Readonly<Record<Comparison, Comparison>> = {
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  '==': '==',
  '!=': '!=',
};

export function pointUse(topology: Topology, point: PointFacts, catalogue: Pick<SiteCatalogue, 'parameter'>): PointUse {
  const nodes: [string, NodeParts][] = [...topology.nodes];
  const reads = nodes.flatMap(([, node]) => node.variables ?? []);
  const assigned = nodes.flatMap(([, node]) => node.assignments ?? []);
  const readings = readingsOf(
    reads,
    assigned.map(({ name }) => name),
    point,
  );
  const parameters = new Map(
    nodes
      .flatMap(([, node]) => node.parameters ?? [])
      .flatMap(({ name, parameter }) => {
        const value = catalogue.parameter(parameter)?.value;
        return value === undefined ? [] : [[name, value] as const];
      }),
  );
  const thresholds = nodes.flatMap(([node_id, { branches = [], assignments = [] }]) =>
    [
      ...branches.map(({ name, when }) => ({ name, text: when })),
      ...assignments.map(({ name, expression }) => ({ name, text: expression })),
    ].flatMap(({ name, text }) => {
      const parsed = topology.formulas.of(text);
      if (!parsed.ok) return [];
      return comparisons(parsed.expression.root, readings, parameters).map((found) => ({ node_id, name, ...found }));
    }),
  );
  const writes = nodes.filter(([, node]) => node.writes?.some((write) => isSame(write, point))).map(([id]) => id);
  return { reads: reads.some((read) => isSame(read, point)), thresholds, writes };
}

function isSame(one: PointRef, other: PointRef): boolean {
  return one.instance === other.instance && one.point_type === other.point_type && one.point === other.point;
}

/** Names of this point in the rule. */
function readingsOf(reads: readonly VariableRead[], assigned: readonly string[], point: PointRef): ReadonlySet<string> {
  const elsewhere = new Set([...assigned, ...reads.filter((read) => !isSame(read, point)).map(({ name }) => name)]);
  return new Set(reads.map(({ name }) => name).filter((name) => !elsewhere.has(name)));
}

type Found = Pick<Threshold, 'operator' | 'value'>;
type Constants = ReadonlyMap<string, number>;

function comparisons(node: ExpressionNode, readings: ReadonlySet<string>, parameters: Constants): Found[] {
  if (node.kind === 'call' && node.name === 'hysteresis') {
    const [side, above, below] = node.args;
    if (side === undefined || above === undefined || below === undefined) return [];
    return [
      ...(compared(side, above, '>', readings, parameters) ?? []),
      ...(compared(side, below, '<', readings, parameters) ?? []),
    ];
  }
  if (node.kind === 'binary' && isComparison(node.operator)) {
    const { operator, left, right } = node;
    const found =
      compared(left, right, operator, readings, parameters) ??
      compared(right, left, turned[operator], readings, parameters);
    if (found !== undefined) return found;
  }
  return partsOf(node).flatMap((part) => comparisons(part, readings, parameters));
}

function isComparison(operator: BinaryOperator): operator is Comparison {
  return Object.hasOwn(turned, operator);
}

function compared(
  side: ExpressionNode,
  other: ExpressionNode,
  operator: Comparison,
  readings: ReadonlySet<string>,
  parameters: Constants,
): Found[] | undefined {
  const isTurned = side.kind === 'unary' && side.operator === '-';
  const reading = isTurned ? side.operand : side;
  if (reading.kind !== 'variable' || !readings.has(reading.name)) return undefined;
  const value = constant(other, parameters);
  if (value === undefined || !Number.isFinite(value)) return undefined;
  return [isTurned ? { operator: turned[operator], value: -value } : { operator, value }];
}

function partsOf(node: ExpressionNode): readonly ExpressionNode[] {
  switch (node.kind) {
    case 'binary':
      return [node.left, node.right];
    case 'unary':
      return [node.operand];
    case 'choice':
      return [node.condition, node.then, node.otherwise];
    case 'call':
      return node.args;
    case 'number':
    case 'variable':
      return [];
  }
}

const foldable: Readonly<Partial<Record<BinaryOperator, (left: number, right: number) => number>>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
};

/** Numbers, parameters, and values computed from these alone. */
function constant(node: ExpressionNode, parameters: Constants): number | undefined {
  if (node.kind === 'number') return node.value;
  if (node.kind === 'variable') return parameters.get(node.name);
  if (node.kind === 'unary' && node.operator === '-') {
    const operand = constant(node.operand, parameters);
    return operand === undefined ? undefined : -operand;
  }
  if (node.kind !== 'binary') return undefined;
  const [left, right] = [constant(node.left, parameters), constant(node.right, parameters)];
  if (left === undefined || right === undefined) return undefined;
  return foldable[node.operator]?.(left, right);
}
