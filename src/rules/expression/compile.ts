/**
 * Expression tree to closure (decisions §2.4). Compiled once when a rule is loaded; running it allocates nothing.
 * Every arithmetic result is checked: one that is not finite raises `frame.notFinite`, so that it never decides.
 */

import { hourOfDay, localMs, monthOf, weekdayOf } from '../local-time.ts';
import type { Snapshot } from '../snapshot.ts';
import { type ClockName, functionTable, type PureName, pureFunctions, type StatefulName } from './function-table.ts';
import type { BinaryOperator, ExpressionNode } from './parse.ts';
import { type SiteState, statefulFunctions } from './stateful.ts';

/** What a run reads and writes while it is evaluated; one per compiled rule, reused. */
export interface Frame {
  snapshot: Snapshot;
  /** Values of declarations, by slot. */
  readonly slots: Float64Array;
  /** 1 for each node, by position, that ran. */
  readonly ran: Uint8Array;
  /** Results of stateful call sites of this run, and their memories. */
  readonly calls: Float64Array;
  sites: readonly SiteState[];
  gapMs: number;
  notFinite: boolean;
}

export type Run = (frame: Frame) => number;

/** How an expression's names and call sites are bound to the rule that it stands in. */
export interface Scope {
  readonly timezone: string;
  variable(name: string): Run;
  /** Registers a call site and returns its number. */
  site(name: StatefulName): number;
  /** Adds work to be done when the node runs, before its expressions. */
  before(advance: (frame: Frame) => void): void;
}

export function compileExpression(node: ExpressionNode, scope: Scope): Run {
  switch (node.kind) {
    case 'number': {
      const { value } = node;
      return () => value;
    }
    case 'variable':
      return scope.variable(node.name);
    case 'unary': {
      const operand = compileExpression(node.operand, scope);
      return node.operator === '-' ? (frame) => -operand(frame) : (frame) => (operand(frame) === 0 ? 1 : 0);
    }
    case 'binary':
      return compileBinary(node.operator, node.left, node.right, scope);
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

/** True when a number is NaN or infinite; the subtraction is cheaper than the library call on the hot path. */
function unbounded(x: number): boolean {
  return x - x !== 0;
}

function compileBinary(operator: BinaryOperator, left: ExpressionNode, right: ExpressionNode, scope: Scope): Run {
  const a = compileExpression(left, scope);
  const b = compileExpression(right, scope);
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

function checked(frame: Frame, value: number): number {
  if (unbounded(value)) frame.notFinite = true;
  return value;
}

function compileCall(node: ExpressionNode & { kind: 'call' }, scope: Scope): Run {
  const { name } = node;
  if (name === 'if') throw new Error('if is parsed into a choice');
  const args = node.args.map((argument) => compileExpression(argument, scope));
  const kind = functionTable[name].kind;
  if (kind === 'clock') return compileClock(name as ClockName, scope.timezone);
  return kind === 'stateful' ? compileStateful(name as StatefulName, args, scope) : compilePure(name as PureName, args);
}

function compilePure(name: PureName, args: readonly Run[]): Run {
  const body = pureFunctions[name];
  const [a, b] = args;
  if (a !== undefined && args.length === 1) return (frame) => checked(frame, body(a(frame)));
  if (a !== undefined && b !== undefined && args.length === 2)
    return (frame) => checked(frame, body(a(frame), b(frame)));
  return (frame) => checked(frame, body(...args.map((argument) => argument(frame))));
}

function compileClock(name: ClockName, timezone: string): Run {
  const read = { time_of_day: hourOfDay, weekday: weekdayOf, month: monthOf }[name];
  return (frame) => read(localMs(frame.snapshot.wallMs, timezone));
}

/** A stateful call is carried out before the node's expressions; the expression only reads its result. */
function compileStateful(name: StatefulName, args: readonly Run[], scope: Scope): Run {
  const advance = statefulFunctions[name];
  const site = scope.site(name);
  const values = new Float64Array(args.length);
  scope.before((frame) => {
    for (let index = 0; index < values.length; index++) {
      const run = args[index];
      if (run === undefined) throw new Error('arguments changed');
      values[index] = run(frame);
    }
    // A memory must not swallow a number that is none: the run ends as failed and the memory stays.
    if (frame.notFinite) return;
    const state = frame.sites[site];
    if (state === undefined) throw new Error(`call site ${site} has no state`);
    frame.calls[site] = checked(frame, advance(state, values, frame.snapshot.monotonicMs, frame.gapMs));
  });
  return (frame) => frame.calls[site] ?? Number.NaN;
}
