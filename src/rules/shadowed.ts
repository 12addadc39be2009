/**
 * Whether one condition can only hold when another one does ([rules §4.5], shadowed branch). It looks at the form of
 * comparisons of one variable with one number; where it cannot tell it says no, so that its yes can be relied on.
 */
import type { ExpressionNode } from './expression/parse.ts';

/** How many comparisons of parts a flow's branches may take together: some milliseconds, whatever they look like. */
export const comparisonsMaximum = 100_000;

/** The remainder of `comparisonsMaximum`; when it is used up, the answer is no. */
export interface Budget {
  comparisons: number;
}

/** True when `earlier` surely holds whenever `later` does, for values that are finite. */
export function implies(later: ExpressionNode, earlier: ExpressionNode, budget: Budget): boolean {
  if (--budget.comparisons < 0) return false;
  if (isTrue(earlier) || same(later, earlier, budget)) return true;
  if (later.kind === 'binary' && later.operator === '||')
    return implies(later.left, earlier, budget) && implies(later.right, earlier, budget);
  if (earlier.kind === 'binary' && earlier.operator === '&&')
    return implies(later, earlier.left, budget) && implies(later, earlier.right, budget);
  if (earlier.kind === 'binary' && earlier.operator === '||')
    if (implies(later, earlier.left, budget) || implies(later, earlier.right, budget)) return true;
  if (later.kind === 'binary' && later.operator === '&&')
    return implies(later.left, earlier, budget) || implies(later.right, earlier, budget);
  const [a, b] = [rangeOf(later), rangeOf(earlier)];
  return a !== null && b !== null && a.name === b.name && isInside(a, b);
}

function isTrue(node: ExpressionNode): boolean {
  const value = numberOf(node);
  return value !== null && value !== 0;
}

/** Equal trees hold together, with their state too: every call site of a node advances in every run. */
function same(a: ExpressionNode, b: ExpressionNode, budget: Budget): boolean {
  if (--budget.comparisons < 0 || a.kind !== b.kind) return false;
  if (a.kind === 'number') return b.kind === 'number' && a.value === b.value;
  if (a.kind === 'variable') return b.kind === 'variable' && a.name === b.name;
  const [inA, inB] = [partsOf(a), partsOf(b)];
  return (
    labelOf(a) === labelOf(b) &&
    inA.length === inB.length &&
    inA.every((part, at) => same(part, inB[at] ?? part, budget))
  );
}

function labelOf(node: ExpressionNode): string {
  return 'operator' in node ? node.operator : node.kind === 'call' ? node.name : node.kind;
}

function partsOf(node: ExpressionNode): readonly ExpressionNode[] {
  switch (node.kind) {
    case 'number':
    case 'variable':
      return [];
    case 'unary':
      return [node.operand];
    case 'binary':
      return [node.left, node.right];
    case 'choice':
      return [node.condition, node.then, node.otherwise];
    case 'call':
      return node.args;
  }
}

/** The values of one variable for which a comparison holds. */
interface Range {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  /** Whether the bound itself belongs to the range. */
  readonly lowIn: boolean;
  readonly highIn: boolean;
}

function rangeOf(node: ExpressionNode): Range | null {
  if (node.kind !== 'binary') return null;
  const { left, right } = node;
  if (left.kind === 'variable') return range(left.name, node.operator, numberOf(right));
  if (right.kind === 'variable') return range(right.name, mirrored.get(node.operator), numberOf(left));
  return null;
}

const mirrored = new Map([
  ['<', '>'],
  ['<=', '>='],
  ['>', '<'],
  ['>=', '<='],
  ['==', '=='],
]);

function range(name: string, operator: string | undefined, value: number | null): Range | null {
  if (value === null) return null;
  const all = { name, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY, lowIn: false, highIn: false };
  if (operator === '<' || operator === '<=') return { ...all, high: value, highIn: operator === '<=' };
  if (operator === '>' || operator === '>=') return { ...all, low: value, lowIn: operator === '>=' };
  return operator === '==' ? { name, low: value, high: value, lowIn: true, highIn: true } : null;
}

function isInside(inner: Range, outer: Range): boolean {
  const low = inner.low > outer.low || (inner.low === outer.low && (outer.lowIn || !inner.lowIn));
  const high = inner.high < outer.high || (inner.high === outer.high && (outer.highIn || !inner.highIn));
  return low && high;
}

/** The value of a number, with its sign; null for anything else. */
function numberOf(node: ExpressionNode): number | null {
  if (node.kind === 'number') return node.value;
  if (node.kind !== 'unary' || node.operator !== '-') return null;
  const value = numberOf(node.operand);
  return value === null ? null : -value;
}
