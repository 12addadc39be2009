/**
 * Expression tree to closure [rules §5.1]. Compiled once when a rule is loaded; running it allocates nothing.
 * Every arithmetic result is checked: one that is not finite raises `frame.notFinite`, so that it never decides.
 */

import { hourOfDay, localMs, monthOf, weekdayOf } from '../../site/local-time.ts';
import { createSnapshot, type Snapshot } from '../../site/snapshot.ts';
import { type ClockName, functionTable, type PureName, pureFunctions, type StatefulName } from './function-table.ts';
import type { BinaryOperator, ExpressionNode } from './parse.ts';
import { type SiteState, statefulFunctions } from './stateful.ts';

/** The state of an evaluation; one per compiled rule, reused. */
export interface Frame {
  snapshot: Snapshot;
  /** Values of declarations, by slot. */
  readonly slots: Float64Array;
  /** Number of the current run; by node position, the last run that reached the node. */
  run: number;
  readonly reached: Uint32Array;
  /** Results of stateful call sites of this run, and their memories. */
  readonly calls: Float64Array;
  sites: readonly SiteState[];
  gapMs: number;
  notFinite: boolean;
}

export type Run = (frame: Frame) => number;

/** How an expression's names and call sites are bound to its rule. */
export interface ExpressionScope {
  /** The time zone of a call that reads the clock. */
  clock(): string;
  /** The slot of a name, or a function that finds its value if that depends on the path taken. */
  variable(name: string): number | Run;
  /** The value of a parameter; undefined for any other name. */
  parameter(name: string): number | undefined;
  /** The slot of a constant. */
  constant(value: number): number;
  /** Registers a call site and returns its number. */
  site(name: StatefulName): number;
  /** Adds work for the start of the node, before its expressions. */
  before(advance: (frame: Frame) => void): void;
}

/**
 * Constant folding: replaces each part that depends only on numbers and parameters by its value. A part without a finite value is kept,
 * so that the run fails on it; a call with memory or a clock is kept too.
 */
export function folded(node: ExpressionNode, scope: ExpressionScope): ExpressionNode {
  const fold = (part: ExpressionNode): ExpressionNode => folded(part, scope);
  switch (node.kind) {
    case 'number':
    case 'variable':
      return node;
    case 'unary': {
      const operand = fold(node.operand);
      return valued({ ...node, operand }, [operand], scope);
    }
    case 'binary': {
      const [left, right] = [fold(node.left), fold(node.right)];
      return valued({ ...node, left, right }, [left, right], scope);
    }
    case 'choice': {
      const [condition, then, otherwise] = [fold(node.condition), fold(node.then), fold(node.otherwise)];
      return valued({ ...node, condition, then, otherwise }, [condition, then, otherwise], scope);
    }
    case 'call': {
      const args = node.args.map(fold);
      const call = { ...node, args };
      return functionTable[node.name].kind === 'pure' ? valued(call, args, scope) : call;
    }
  }
}

/** `node`, or its value if those of its parts are known. */
function valued(node: ExpressionNode, parts: readonly ExpressionNode[], scope: ExpressionScope): ExpressionNode {
  const isKnown = parts.every(
    (part) => part.kind === 'number' || (part.kind === 'variable' && scope.parameter(part.name) !== undefined),
  );
  if (!isKnown) return node;
  const values: number[] = [];
  const slotFor = (value: number): number => values.push(value) - 1;
  const variable = (name: string): number => slotFor(scope.parameter(name) ?? Number.NaN);
  const run = compileExpression(node, { ...scope, variable, constant: slotFor });
  const frame = frameOf(values);
  const value = run(frame);
  // The slot of a constant does not distinguish -0 from 0.
  return frame.notFinite || Object.is(value, -0) ? node : { kind: 'number', value };
}

function frameOf(values: readonly number[]): Frame {
  return {
    snapshot: createSnapshot(0),
    slots: Float64Array.from(values),
    run: 0,
    reached: new Uint32Array(),
    calls: new Float64Array(),
    sites: [],
    gapMs: 0,
    notFinite: false,
  };
}

export function compileExpression(node: ExpressionNode, scope: ExpressionScope): Run {
  switch (node.kind) {
    case 'number': {
      const { value } = node;
      return () => value;
    }
    case 'variable': {
      const bound = scope.variable(node.name);
      return typeof bound === 'number' ? (frame) => frame.slots[bound] as number : bound;
    }
    case 'unary': {
      const slot = slotOf(node.operand, scope);
      if (slot !== undefined && node.operator === '-') return ({ slots }) => -(slots[slot] as number);
      const operand = compileExpression(node.operand, scope);
      return node.operator === '-' ? (frame) => -operand(frame) : (frame) => (operand(frame) === 0 ? 1 : 0);
    }
    case 'binary':
      return compileBinary(node, scope);
    case 'choice': {
      const condition = compileExpression(node.condition, scope);
      const then = compileExpression(node.then, scope);
      const otherwise = compileExpression(node.otherwise, scope);
      return (frame) => (condition(frame) !== 0 ? then(frame) : otherwise(frame));
    }
    case 'call':
      return compileCall(node, scope);
  }
}

/**
 * Most operators combine two plain values. Those read both from their slots, which saves two calls of three; all
 * others are compiled from their operands.
 */
function compileBinary(node: ExpressionNode & { kind: 'binary' }, scope: ExpressionScope): Run {
  const i = slotOf(node.left, scope);
  const j = slotOf(node.right, scope);
  const plain = i !== undefined && j !== undefined ? betweenSlots(node.operator, i, j) : undefined;
  if (plain !== undefined) return plain;
  return between(node.operator, compileExpression(node.left, scope), compileExpression(node.right, scope));
}

/** Slot of a constant or a plain variable. */
export function slotOf(node: ExpressionNode, scope: ExpressionScope): number | undefined {
  if (node.kind === 'number') return scope.constant(node.value);
  if (node.kind !== 'variable') return undefined;
  const bound = scope.variable(node.name);
  return typeof bound === 'number' ? bound : undefined;
}

function betweenSlots(operator: BinaryOperator, i: number, j: number): Run | undefined {
  switch (operator) {
    case '+':
      return (frame) => checked(frame, (frame.slots[i] as number) + (frame.slots[j] as number));
    case '-':
      return (frame) => checked(frame, (frame.slots[i] as number) - (frame.slots[j] as number));
    case '*':
      return (frame) => checked(frame, (frame.slots[i] as number) * (frame.slots[j] as number));
    case '/':
      return (frame) => checked(frame, (frame.slots[i] as number) / (frame.slots[j] as number));
    case '%':
      return (frame) => checked(frame, (frame.slots[i] as number) % (frame.slots[j] as number));
    case '==':
      return ({ slots }) => ((slots[i] as number) === (slots[j] as number) ? 1 : 0);
    case '!=':
      return ({ slots }) => ((slots[i] as number) !== (slots[j] as number) ? 1 : 0);
    case '<':
      return ({ slots }) => ((slots[i] as number) < (slots[j] as number) ? 1 : 0);
    case '<=':
      return ({ slots }) => ((slots[i] as number) <= (slots[j] as number) ? 1 : 0);
    case '>':
      return ({ slots }) => ((slots[i] as number) > (slots[j] as number) ? 1 : 0);
    case '>=':
      return ({ slots }) => ((slots[i] as number) >= (slots[j] as number) ? 1 : 0);
    case '^':
    case '&&':
    case '||':
      return undefined;
  }
}

function between(operator: BinaryOperator, a: Run, b: Run): Run {
  switch (operator) {
    case '+':
      return (frame) => checked(frame, a(frame) + b(frame));
    case '-':
      return (frame) => checked(frame, a(frame) - b(frame));
    case '*':
      return (frame) => checked(frame, a(frame) * b(frame));
    case '/':
      return (frame) => checked(frame, a(frame) / b(frame));
    case '%':
      return (frame) => checked(frame, a(frame) % b(frame));
    case '^':
      return (frame) => checked(frame, a(frame) ** b(frame));
    case '==':
      return (frame) => (a(frame) === b(frame) ? 1 : 0);
    case '!=':
      return (frame) => (a(frame) !== b(frame) ? 1 : 0);
    case '<':
      return (frame) => (a(frame) < b(frame) ? 1 : 0);
    case '<=':
      return (frame) => (a(frame) <= b(frame) ? 1 : 0);
    case '>':
      return (frame) => (a(frame) > b(frame) ? 1 : 0);
    case '>=':
      return (frame) => (a(frame) >= b(frame) ? 1 : 0);
    case '&&':
      return (frame) => (a(frame) !== 0 && b(frame) !== 0 ? 1 : 0);
    case '||':
      return (frame) => (a(frame) !== 0 || b(frame) !== 0 ? 1 : 0);
  }
}

/** Notes a value that is NaN or infinite; the subtraction is cheaper than the library call on the hot path. */
function checked(frame: Frame, value: number): number {
  if (value - value !== 0) frame.notFinite = true;
  return value;
}

function compileCall(node: ExpressionNode & { kind: 'call' }, scope: ExpressionScope): Run {
  const { name } = node;
  if (name === 'if') throw new Error('if is parsed into a choice');
  const { kind } = functionTable[name];
  if (kind === 'clock') return compileClock(name as ClockName, scope.clock());
  if (kind === 'stateful') return compileStateful(name as StatefulName, node.args, scope);
  return compilePure(
    name as PureName,
    node.args.map((argument) => compileExpression(argument, scope)),
  );
}

function compilePure(name: PureName, args: readonly Run[]): Run {
  const body = pureFunctions[name];
  const [a, b, c] = args;
  // The extremes accept any number of arguments: pair by pair, without a list.
  if (a !== undefined && name === 'min') return args.slice(1).reduce(smaller, a);
  if (a !== undefined && name === 'max') return args.slice(1).reduce(greater, a);
  // Unrolled for up to three arguments: a spread call would allocate a list in every run.
  if (a !== undefined && args.length === 1) return (frame) => checked(frame, body(a(frame)));
  if (a !== undefined && b !== undefined && args.length === 2)
    return (frame) => checked(frame, body(a(frame), b(frame)));
  if (a !== undefined && b !== undefined && c !== undefined && args.length === 3)
    return (frame) => checked(frame, body(a(frame), b(frame), c(frame)));
  return (frame) => checked(frame, body(...args.map((argument) => argument(frame))));
}

function smaller(a: Run, b: Run): Run {
  return (frame) => checked(frame, Math.min(a(frame), b(frame)));
}

function greater(a: Run, b: Run): Run {
  return (frame) => checked(frame, Math.max(a(frame), b(frame)));
}

function compileClock(name: ClockName, timezone: string): Run {
  const read = { time_of_day: hourOfDay, weekday: weekdayOf, month: monthOf }[name];
  return (frame) => read(localMs(frame.snapshot.wallMs, timezone));
}

/** A stateful call runs before the node's expressions; the expression only reads its result. */
function compileStateful(name: StatefulName, args: readonly ExpressionNode[], scope: ExpressionScope): Run {
  const advance = statefulFunctions[name];
  // Arguments first: call sites among them advance before this one.
  const inputs = args.map((argument) => slotOf(argument, scope) ?? compileExpression(argument, scope));
  const site = scope.site(name);
  const values = new Float64Array(args.length);
  scope.before((frame) => {
    for (let index = 0; index < values.length; index++) {
      const input = inputs[index] as number | Run;
      values[index] = typeof input === 'number' ? (frame.slots[input] as number) : input(frame);
    }
    // A state must not include a value that is not finite: the run ends as failed and the state is unchanged.
    frame.calls[site] = Number.NaN;
    if (frame.notFinite) return;
    const state = frame.sites[site];
    if (state === undefined) throw new Error(`call site ${site} has no state`);
    frame.calls[site] = checked(frame, advance(state, values, frame.snapshot.monotonicMs, frame.gapMs));
  });
  return (frame) => frame.calls[site] ?? Number.NaN;
}
