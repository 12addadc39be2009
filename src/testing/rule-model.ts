/**
 * One rule as the service specifies it [rules §1.1], [rules §2.3]: a document with a revision that every change increments. A
 * change may expect a revision and is refused when the rule has another; a deleted id is never used again.
 */
import { checkLinearizable, explain, type Model, type Operation } from './linearizability.ts';

/** The fields that clients change; `flow` represents the flow document by a number in it. */
export interface RuleFields {
  readonly name: string;
  readonly description: string | null;
  readonly priority: number;
  readonly cooldown_ms: number;
  readonly flow: number | null;
}

export type RuleInput =
  | { readonly kind: 'create'; readonly name: string; readonly description: string | null }
  | { readonly kind: 'read' }
  | { readonly kind: 'update'; readonly changes: Partial<RuleFields>; readonly expected: number | null }
  | { readonly kind: 'enable' | 'disable' | 'delete'; readonly expected: number | null };

export interface ModelDocument extends RuleFields {
  readonly enabled: boolean;
  readonly revision: number;
}

/** By status; of 409 the revision that the refusal names. A create that finds its id in use is what no answer says. */
export type RuleOutput =
  | { readonly status: 200; readonly revision: number; readonly document?: ModelDocument }
  | { readonly status: 200; readonly revision: null }
  | { readonly status: 404 }
  | { readonly status: 409; readonly revision: number }
  | { readonly status: 'id in use' };

export type ModelState = ModelDocument | 'never was' | 'deleted';

export type RuleOperation = Operation<RuleInput, RuleOutput>;

export const ruleModel: Model<ModelState, RuleInput, RuleOutput> = {
  initial: 'never was',
  apply(state, input) {
    if (input.kind === 'create') return create(state, input);
    if (state === 'never was' || state === 'deleted') return { state, output: { status: 404 } };
    if (input.kind === 'read') return { state, output: { status: 200, revision: state.revision, document: state } };
    if (input.expected !== null && input.expected !== state.revision)
      return { state, output: { status: 409, revision: state.revision } };
    if (input.kind === 'delete') return { state: 'deleted', output: { status: 200, revision: null } };
    const changes = input.kind === 'update' ? input.changes : { enabled: input.kind === 'enable' };
    const after = { ...state, ...changes, revision: state.revision + 1 };
    return { state: after, output: { status: 200, revision: after.revision } };
  },
  isQuiet: (input, output) => input.kind === 'read' || (output !== null && output.status !== 200),
  describe(input, output) {
    const { kind, ...rest } = input;
    const asked = Object.keys(rest).length === 0 ? kind : `${kind} ${JSON.stringify(rest)}`;
    return `${asked} → ${output === null ? 'no answer' : JSON.stringify(output)}`;
  },
};

function create(
  state: ModelState,
  { name, description }: Extract<RuleInput, { kind: 'create' }>,
): { readonly state: ModelState; readonly output: RuleOutput } {
  if (state !== 'never was') return { state, output: { status: 'id in use' } };
  const document = { name, description, priority: 0, cooldown_ms: 0, flow: null, enabled: false, revision: 1 };
  return { state: document, output: { status: 200, revision: 1 } };
}

/** An operation on a rule; null where no answer told which rule it created. */
export type RecordedOperation = RuleOperation & { readonly ruleId: number | null };

/**
 * The faults in a history of many rules, one entry a rule; empty when it is linearizable. A creation without an answer may have
 * made any rule that nobody else has made.
 */
export function troubleWithRules(history: readonly RecordedOperation[]): readonly string[] {
  const unanswered = history.filter(({ ruleId }) => ruleId === null);
  const byRule = Map.groupBy(
    history.filter(({ ruleId }) => ruleId !== null),
    ({ ruleId }) => ruleId,
  );
  return [...byRule].flatMap(([ruleId, own]) => {
    const made = own.some(({ input }) => input.kind === 'create');
    const verdict = checkLinearizable(ruleModel, made ? own : [...own, ...unanswered]);
    return verdict.kind === 'linearizable' ? [] : [`rule ${ruleId}: ${explain(ruleModel, verdict)}`];
  });
}
