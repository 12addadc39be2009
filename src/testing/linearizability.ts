/**
 * Whether a recorded history is linearizable (Wing and Gong's search with Lowe's memory of visited states): whether each operation
 * can have taken effect at one moment between its invocation and its return, so that all of them, in the order of those moments,
 * answer as a sequential model does. An operation that nobody got an answer to may have taken effect at any time after its
 * invocation, or never. Histories of independent objects are checked one by one: linearizability is local. Checks "no lost
 * update" of docs/guides/several-machines.md; `rule-model.ts` says what a rule is.
 */
import { isDeepStrictEqual } from 'node:util';

export interface Operation<Input, Output> {
  readonly client: string;
  readonly input: Input;
  /** Null: its answer is not known. */
  readonly output: Output | null;
  readonly invokedMs: number;
  /** Null: it never returned, and may not have taken effect. */
  readonly returnedMs: number | null;
}

/** A sequential model of one object. States are plain data. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  apply(state: State, input: Input): { readonly state: State; readonly output: Output };
  /** Whether such an operation changes nothing in any state in which it gives this answer; of an unknown answer, in any state. */
  isQuiet(input: Input, output: Output | null): boolean;
  describe(input: Input, output: Output | null): string;
}

export type LinearizabilityVerdict<Input, Output> =
  | { readonly kind: 'linearizable'; readonly order: readonly Operation<Input, Output>[] }
  | {
      readonly kind: 'not-linearizable';
      /** No order explains these, whatever the `others` until then answered; without any one of them, one does. */
      readonly offending: readonly Operation<Input, Output>[];
      readonly others: number;
      /** Of the others, the changes at that time and the last ones before it: where somebody who reads this would look. */
      readonly around: readonly Operation<Input, Output>[];
    }
  | { readonly kind: 'undecided' };

export interface SearchLimits {
  /** Configurations (operations that have taken effect, and the state after them) that one search visits before it gives up. */
  readonly configurations_max: number;
  /** Configurations for finding the smallest failing part; beyond them the rest is reported unchanged. */
  readonly shrink_configurations_max: number;
}

export const searchLimits: SearchLimits = { configurations_max: 500_000, shrink_configurations_max: 500_000 };

export function checkLinearizable<State, Input, Output>(
  model: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
  limits: SearchLimits = searchLimits,
): LinearizabilityVerdict<Input, Output> {
  const found = search(model, history, limits.configurations_max);
  if (found.kind !== 'none') return found.kind === 'order' ? { kind: 'linearizable', order: found.order } : found;
  const offending = smallestPart(model, history, limits.shrink_configurations_max);
  const others = history.filter((operation) => !offending.includes(operation));
  return { kind: 'not-linearizable', offending, others: others.length, around: lastChanges(model, others, offending) };
}

/** The failure message of a test. */
export function explain<State, Input, Output>(
  model: Model<State, Input, Output>,
  verdict: LinearizabilityVerdict<Input, Output>,
): string {
  if (verdict.kind === 'linearizable') return `${verdict.order.length} operations, in an order that explains them`;
  if (verdict.kind === 'undecided') return 'undecided: the search was given up; record fewer operations at once';
  const { offending, others, around } = verdict;
  const line = ({ client, input, output, invokedMs, returnedMs }: Operation<Input, Output>): string => {
    const until = returnedMs === null ? 'never' : seconds(returnedMs);
    return `  ${client}  ${seconds(invokedMs)} to ${until}  ${model.describe(input, output)}`;
  };
  const told = [`no order explains these answers, whatever ${others} others were:`, ...offending.map(line)];
  return (around.length === 0 ? told : [...told, 'changes then and right before:', ...around.map(line)]).join('\n');
}

/** Changes reported with the failing part. */
const aroundMax = 8;

function lastChanges<State, Input, Output>(
  model: Model<State, Input, Output>,
  others: readonly Operation<Input, Output>[],
  offending: readonly Operation<Input, Output>[],
): readonly Operation<Input, Output>[] {
  const endMs = Math.max(...offending.map(({ returnedMs }) => returnedMs ?? 0));
  return others
    .filter(({ input, output, invokedMs }) => invokedMs <= endMs && !model.isQuiet(input, output))
    .toSorted((a, b) => a.invokedMs - b.invokedMs)
    .slice(-aroundMax);
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(4)} s`;

type Found<Input, Output> =
  | { readonly kind: 'order'; readonly order: readonly Operation<Input, Output>[]; readonly looked: number }
  | { readonly kind: 'none'; readonly looked: number }
  | { readonly kind: 'undecided'; readonly looked: number };

/** Which operations have taken effect, and the state after them. */
interface Configuration<State, By> {
  /** Of those that returned, by invocation: all before this one have taken effect … */
  readonly low: number;
  /** … and these behind it, rising. */
  readonly beyond: readonly number[];
  /** Of those that never returned: these have, rising. */
  readonly lost: readonly number[];
  readonly state: State;
  /** The step that led here; null at the beginning. */
  readonly by: { readonly from: Configuration<State, By>; readonly operation: By } | null;
}

function search<State, Input, Output>(
  model: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
  configurationsMax: number,
): Found<Input, Output> {
  const sorted = history.toSorted((a, b) => a.invokedMs - b.invokedMs);
  const returned = sorted.filter((operation) => operation.returnedMs !== null);
  // A lost operation without effect explains nothing.
  const lost = sorted.filter(({ returnedMs, input, output }) => returnedMs === null && !model.isQuiet(input, output));
  const seen = new Set<string>();
  const stack: Configuration<State, Operation<Input, Output>>[] = [
    { low: 0, beyond: [], lost: [], state: model.initial, by: null },
  ];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (at.low === returned.length) return { kind: 'order', order: orderOf(at), looked: seen.size };
    const key = `${at.low}:${at.beyond.join()}:${at.lost.join()}:${JSON.stringify(at.state)}`;
    if (seen.has(key)) continue;
    if (seen.size >= configurationsMax) return { kind: 'undecided', looked: seen.size };
    seen.add(key);
    // The last one pushed is tried first.
    stack.push(...nextOf(model, returned, lost, at).toReversed());
  }
  return { kind: 'none', looked: seen.size };
}

/** The configurations one operation further; first that of the operation that returned earliest. */
function nextOf<State, Input, Output>(
  model: Model<State, Input, Output>,
  returned: readonly Operation<Input, Output>[],
  lost: readonly Operation<Input, Output>[],
  at: Configuration<State, Operation<Input, Output>>,
): Configuration<State, Operation<Input, Output>>[] {
  const { window, untilMs } = windowOf(returned, at);
  const next: { readonly endMs: number; readonly configuration: typeof at }[] = [];
  for (const index of window) {
    const operation = returned[index];
    if (operation === undefined) throw new Error('the window is outside the history');
    const { state, output } = model.apply(at.state, operation.input);
    if (operation.output !== null && !isDeepStrictEqual(output, operation.output)) continue;
    const configuration = { ...taken(at, index), state, by: { from: at, operation } };
    // No reason to defer it: its answer is correct now, and it changes nothing for the others.
    if (operation.output !== null && model.isQuiet(operation.input, operation.output)) return [configuration];
    next.push({ endMs: operation.returnedMs ?? Number.POSITIVE_INFINITY, configuration });
  }
  next.sort((a, b) => a.endMs - b.endMs);
  const configurations = next.map(({ configuration }) => configuration);
  for (const [index, operation] of lost.entries()) {
    if (operation.invokedMs > untilMs || at.lost.includes(index)) continue;
    const { state } = model.apply(at.state, operation.input);
    // Without an effect it may as well not have happened yet.
    if (isDeepStrictEqual(state, at.state)) continue;
    const happened = [...at.lost, index].toSorted((a, b) => a - b);
    configurations.push({ ...at, lost: happened, state, by: { from: at, operation } });
  }
  return configurations;
}

/** Those that may take effect next: invoked before any that has not taken effect had returned. */
function windowOf(
  returned: readonly Operation<unknown, unknown>[],
  at: Configuration<unknown, unknown>,
): { readonly window: readonly number[]; readonly untilMs: number } {
  const open: number[] = [];
  let untilMs = Number.POSITIVE_INFINITY;
  for (let index = at.low; index < returned.length; index++) {
    const operation = returned[index];
    if (operation === undefined || operation.invokedMs > untilMs) break;
    if (at.beyond.includes(index)) continue;
    untilMs = Math.min(untilMs, operation.returnedMs ?? Number.POSITIVE_INFINITY);
    open.push(index);
  }
  return { window: open.filter((index) => (returned[index]?.invokedMs ?? 0) <= untilMs), untilMs };
}

function taken<State, By>(at: Configuration<State, By>, index: number): Configuration<State, By> {
  const beyond = [...at.beyond, index].toSorted((a, b) => a - b);
  let { low } = at;
  while (beyond[0] === low) {
    beyond.shift();
    low++;
  }
  return { ...at, low, beyond };
}

function orderOf<State, By>(last: Configuration<State, By>): By[] {
  const order: By[] = [];
  for (let { by } = last; by !== null; { by } = by.from) order.push(by.operation);
  return order.toReversed();
}

/**
 * Of a history that has no order. Its prefixes have one up to some return and none from there on; within that prefix, answers
 * are forgotten one by one as long as there is still no order. Both only weaken the history, so what is left has none either.
 */
function smallestPart<State, Input, Output>(
  model: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
  configurationsMax: number,
): readonly Operation<Input, Output>[] {
  let left = configurationsMax;
  const fails = (part: readonly Operation<Input, Output>[]): boolean => {
    const found = search(model, part, left);
    left -= found.looked;
    return found.kind === 'none';
  };
  let part = shortestPrefix(history, fails);
  const known = (): Operation<Input, Output>[] => part.filter(({ output }) => output !== null);
  // Long runs first: most answers are irrelevant.
  for (let size = Math.ceil(known().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (const run of chunks(known(), size)) {
      const forgotten = new Set(run);
      const weaker = part.map((operation) => (forgotten.has(operation) ? { ...operation, output: null } : operation));
      if (fails(weaker)) part = weaker.filter(({ input, output }) => output !== null || !model.isQuiet(input, null));
    }
  }
  return known();
}

/** The shortest part of the history without a valid order: it ends with the earliest return that leaves none. */
function shortestPrefix<Input, Output>(
  history: readonly Operation<Input, Output>[],
  fails: (part: readonly Operation<Input, Output>[]) => boolean,
): readonly Operation<Input, Output>[] {
  const ends = history.flatMap(({ returnedMs }) => (returnedMs === null ? [] : [returnedMs])).toSorted((a, b) => a - b);
  const until = (endMs: number): Operation<Input, Output>[] =>
    history
      .filter(({ invokedMs }) => invokedMs <= endMs)
      .map((operation) =>
        operation.returnedMs !== null && operation.returnedMs > endMs
          ? { ...operation, output: null, returnedMs: null }
          : operation,
      );
  let [good, bad] = [-1, ends.length - 1];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (fails(until(ends[middle] ?? 0))) bad = middle;
    else good = middle;
  }
  return until(ends[bad] ?? 0);
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
