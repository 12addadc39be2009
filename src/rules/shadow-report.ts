/**
 * A rule in shadow beside the rule that commands [rules §1.6]: runs are paired by time, and compared by what each would have written, or
 * wrote, and by the nodes that each went through.
 */
import type { ActionRecord, ExecutionRecord } from './record.ts';

export type ReportedRun = Pick<ExecutionRecord, 'started_at' | 'actions_executed' | 'execution_path'>;

interface ActuatorDifference {
  readonly instance: number;
  readonly point: number;
  /** The value to be written; null without one. */
  readonly shadow: number | null;
  readonly live: number | null;
}

interface ShadowDifference {
  readonly at: string;
  readonly actuators: readonly ActuatorDifference[];
  /** Ids that only one of the two went through. */
  readonly nodes: readonly string[];
}

export interface ShadowReport {
  readonly compared: number;
  readonly equal: number;
  readonly differences: readonly ShadowDifference[];
}

/** Both by time. A run belongs to the nearest one of the other rule that is at most `toleranceMs` away and still alone. */
export function shadowReport(
  shadow: readonly ReportedRun[],
  live: readonly ReportedRun[],
  toleranceMs: number,
): ShadowReport {
  const differences: ShadowDifference[] = [];
  let compared = 0;
  let next = 0;
  for (const run of shadow) {
    const atMs = Date.parse(run.started_at);
    const msTo = (index: number): number => {
      const other = live[index];
      return other === undefined ? Number.POSITIVE_INFINITY : Math.abs(Date.parse(other.started_at) - atMs);
    };
    while (msTo(next + 1) <= msTo(next) && next < live.length) next++;
    const other = live[next];
    if (other === undefined || msTo(next) > toleranceMs) continue;
    next++;
    compared++;
    const actuators = actuatorDifferences(run, other);
    const nodes = oneSided(run.execution_path, other.execution_path);
    if (actuators.length + nodes.length > 0) differences.push({ at: run.started_at, actuators, nodes });
  }
  return { compared, equal: compared - differences.length, differences };
}

function actuatorDifferences(shadow: ReportedRun, live: ReportedRun): ActuatorDifference[] {
  const [meant, done] = [writesOf(shadow), writesOf(live)];
  return [...new Set([...meant.keys(), ...done.keys()])].flatMap((key) => {
    const [one, other] = [meant.get(key), done.get(key)];
    const [instance = 0, point = 0] = key.split(':').map(Number);
    // A limit would have changed what the rule in shadow writes, too.
    const isAsAsked = other?.reason === 'limited' && one?.value === other.value;
    const isSame = isAsAsked || valueOf(one) === valueOf(other);
    return isSame ? [] : [{ instance, point, shadow: valueOf(one), live: valueOf(other) }];
  });
}

function writesOf({ actions_executed: actions }: ReportedRun): ReadonlyMap<string, ActionRecord> {
  const written = actions.filter(({ point_type: kind }) => kind === 'action');
  return new Map(written.map((action) => [`${action.instance}:${action.point}`, action]));
}

/** The value that was accepted; else the one that was asked for, which another authority refused; null without a write. */
function valueOf(action: ActionRecord | undefined): number | null {
  return action?.written ?? action?.value ?? null;
}

function oneSided(one: readonly string[], other: readonly string[]): string[] {
  return [...one.filter((id) => !other.includes(id)), ...other.filter((id) => !one.includes(id))];
}
