/**
 * Agreement of a simulated rule with its recorded runs [rules §10.3]: each recorded run is compared with the simulated one
 * nearest in time, and each difference has a cause.
 */
import { timeLabel } from '../../base/timestamp.ts';
import type { CompiledRule } from '../compile.ts';
import type { Plan } from '../evaluate.ts';
import { type RuleRun, ruleRunOf } from '../executor.ts';
import type { ActionRecord, ExecutionRecord } from '../record.ts';
import { trailOf, variableValues } from '../run-record.ts';

/** The compared part of an execution record. */
export type RecordedRun = Pick<
  ExecutionRecord,
  'started_at' | 'outcome' | 'execution_path' | 'actions_executed' | 'variable_values'
>;

/**
 * `no-run`: the simulation did not run then. `parameter`: a parameter had another value. `input`: an input had another value than the
 * recorded series gives at that moment. `memory`: a stateful function started without state at the beginning of the window.
 * `unexplained`: none of these.
 */
export type DifferenceCause = 'no-run' | 'parameter' | 'input' | 'memory' | 'unexplained';

export interface AgreementDifference {
  readonly at: string;
  readonly field: 'run' | 'outcome' | 'path' | 'writes';
  readonly recorded: unknown;
  readonly computed: unknown;
  readonly cause: DifferenceCause;
}

export interface Agreement {
  readonly compared: number;
  readonly equal: number;
  /** Null if nothing was compared. */
  readonly ratio: number | null;
  /** The compared runs of which an override, a limit, another rule or a channel refused or changed a write. */
  readonly refused: number;
  /** Simulated runs between the first and the last recorded one that have no recorded run beside them. */
  readonly unrecorded: number;
  /** The first ones. */
  readonly differences: readonly AgreementDifference[];
  /** By cause, all of them. */
  readonly causes: Readonly<Partial<Record<DifferenceCause, number>>>;
}

/** Values that differ by less are equal: a recorded value may have been rounded by a register or a file. */
const relativeTolerance = 1e-9;

export class AgreementCheck {
  readonly #rule: CompiledRule;
  readonly #recorded: readonly RecordedRun[];
  readonly #toleranceMs: number;
  readonly #differencesMax: number;
  readonly #parameters: ReadonlySet<string>;
  readonly #differences: AgreementDifference[] = [];
  readonly #causes: Partial<Record<DifferenceCause, number>> = {};
  #next = 0;
  #equal = 0;
  #refused = 0;
  #unrecorded = 0;

  /** `recorded` by time; a simulated run belongs to a recorded one when they are at most `toleranceMs` apart. */
  constructor(rule: CompiledRule, recorded: readonly RecordedRun[], toleranceMs: number, differencesMax: number) {
    this.#rule = rule;
    this.#recorded = recorded;
    this.#toleranceMs = toleranceMs;
    this.#differencesMax = differencesMax;
    this.#parameters = new Set(
      rule.nodes.flatMap(({ parameters, declared }) =>
        parameters.flatMap(({ slot }) => declared.filter((each) => each.slot === slot).map(({ name }) => name)),
      ),
    );
  }

  /** The recorded run with which a simulated one at that time would be compared. */
  expected(atMs: number): RecordedRun | null {
    for (let index = this.#next; ; index++) {
      const recorded = this.#recorded[index];
      if (recorded === undefined) return null;
      const distanceMs = atMs - Date.parse(recorded.started_at);
      if (distanceMs <= this.#toleranceMs) return distanceMs < -this.#toleranceMs ? null : recorded;
    }
  }

  /**
   * A simulated run with the write results of its recorded run: the site's handling of a write is not a decision of the
   * rule, so it is taken from the record, as the inputs are.
   */
  taken(atMs: number, run: RuleRun, plan: Plan): RuleRun {
    const recorded = this.expected(atMs)?.actions_executed;
    if (recorded === undefined || !recorded.some(wasOverruled)) return run;
    const actions = run.actions.map((action, index) => {
      const same = recorded[index];
      return same !== undefined && wasOverruled(same) && isSame(askedOf(same), askedOf(action)) ? same : action;
    });
    return ruleRunOf(this.#rule, plan, actions);
  }

  /** `run` as returned by `taken`. */
  add(atMs: number, run: RuleRun, plan: Plan): void {
    for (let recorded = this.#recorded[this.#next]; recorded !== undefined; recorded = this.#recorded[this.#next]) {
      const distanceMs = atMs - Date.parse(recorded.started_at);
      if (distanceMs < -this.#toleranceMs) {
        this.#unrecorded++;
        return;
      }
      this.#next++;
      if (distanceMs > this.#toleranceMs) this.#alone(recorded);
      else {
        this.#compare(recorded, run, plan);
        return;
      }
    }
  }

  end(): Agreement {
    for (; this.#next < this.#recorded.length; this.#next++) {
      const recorded = this.#recorded[this.#next];
      if (recorded !== undefined) this.#alone(recorded);
    }
    const compared = this.#recorded.length;
    return {
      compared,
      equal: this.#equal,
      ratio: compared === 0 ? null : this.#equal / compared,
      refused: this.#refused,
      unrecorded: this.#unrecorded,
      differences: this.#differences,
      causes: this.#causes,
    };
  }

  #alone({ started_at: at, outcome }: RecordedRun): void {
    this.#note({ at, field: 'run', recorded: outcome, computed: null, cause: 'no-run' });
  }

  #compare(recorded: RecordedRun, run: RuleRun, plan: Plan): void {
    const { path } = trailOf(this.#rule, plan);
    if (recorded.actions_executed.some(wasOverruled)) this.#refused++;
    const pairs = [
      ['outcome', recorded.outcome, run.outcome],
      ['path', recorded.execution_path, path],
      ['writes', recorded.actions_executed.map(writeOf), run.actions.map(writeOf)],
    ] as const;
    const different = pairs.find(([, was, is]) => !isSame(was, is));
    if (different === undefined) {
      this.#equal++;
      return;
    }
    const [field, was, is] = different;
    const cause = this.#cause(recorded, plan);
    this.#note({ at: timeLabel(Date.parse(recorded.started_at)), field, recorded: was, computed: is, cause });
  }

  #cause(recorded: RecordedRun, plan: Plan): DifferenceCause {
    const computed = variableValues(this.#rule, plan);
    const names = Object.keys(recorded.variable_values).filter(
      (name) => !isSame(recorded.variable_values[name], computed[name]),
    );
    // A run that ended before it knew its parameters does not count for them.
    if (names.some((name) => this.#parameters.has(name) && computed[name] !== undefined)) return 'parameter';
    const reads = new Set(this.#rule.readPoints.map(({ name }) => name));
    if (names.some((name) => reads.has(name))) return 'input';
    return this.#rule.sites.length > 0 ? 'memory' : 'unexplained';
  }

  #note(difference: AgreementDifference): void {
    this.#causes[difference.cause] = (this.#causes[difference.cause] ?? 0) + 1;
    if (this.#differences.length < this.#differencesMax) this.#differences.push(difference);
  }
}

/** Whether something other than the rule refused or changed the write. */
function wasOverruled({ success, reason }: ActionRecord): boolean {
  return success ? reason === 'limited' : reason !== 'not-finite' && reason !== 'out-of-range';
}

/** The requested value of a write. */
function askedOf({ node_id, instance, point, value }: ActionRecord) {
  return { node_id, instance, point, value };
}

function writeOf({ node_id, instance, point, value, written, success }: ActionRecord) {
  return { node_id, instance, point, value: written ?? value, success };
}

export function isSame(one: unknown, other: unknown): boolean {
  if (typeof one === 'number' && typeof other === 'number')
    return one === other || Math.abs(one - other) <= relativeTolerance * Math.max(Math.abs(one), Math.abs(other));
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((entry, index) => isSame(entry, other[index]));
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => isSame(Reflect.get(one, name), Reflect.get(other, name)));
}
