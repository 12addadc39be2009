/** The dependencies of area A's handlers, and the small shapes that all their answers share. */
import { actorOf, type CallContext, type Capability } from '../api/capability.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import type { FlowLimits } from '../rules/limits.ts';
import type { SiteCatalogue } from '../site/catalogue.ts';
import type { Snapshot } from '../site/snapshot.ts';
import type { SiteNames } from './catalogue-view.ts';
import type { EngineClient } from './engine-client.ts';
import type { ParametersInForce, SiteParameters } from './parameters-in-force.ts';
import type { RevisionReader, RuleAct } from './store/revision-store.ts';
import type { RuleStore } from './store/rule-store.ts';
import type { RunReader } from './store/run-store.ts';

export interface AutomationParts {
  readonly clock: Clock;
  readonly flowLimits: FlowLimits;
  readonly tickIntervalMs: number;
  /** A rule with a flow is stored, and enabled, only with tests that all pass [rules §11]. */
  readonly requireTests: boolean;
  readonly store: RuleStore;
  readonly revisions: RevisionReader;
  readonly runs: RunReader;
  readonly engine: EngineClient;
  readonly site: () => SiteNames;
  /** The catalogue of the rules; a reload with changed parameters replaces it. */
  readonly catalogue: () => SiteCatalogue;
  readonly parameters: Pick<ParametersInForce, 'current' | 'renew'>;
  /** Reads the current site file; throws a Fault `invalid-site`. */
  readonly readFile: () => Promise<{
    readonly parameters: SiteParameters;
    /** Its other differences from the running site, one sentence each. */
    readonly otherChanges: readonly string[];
  }>;
  /** Live values now, or null if no consistent copy was possible. */
  readonly snapshot: () => Snapshot | null;
  readonly log: Log;
}

/** Stored changes persist: an engine that cannot apply them now does so later, at the latest after its next start. */
export async function orLater<T>(log: Log, taken: Promise<T>): Promise<T | null> {
  try {
    return await taken;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    log.warn('a stored change waits for the rule engine', { code: error.code });
    return null;
  }
}

export const succeeded = (data: unknown): { success: true; data: unknown } => ({ success: true, data });
export const notLoaded = (ruleId: number): Fault =>
  new Fault('engine-unavailable', `rule ${ruleId} is stored but not loaded: reload the scheduler`);
export const etag = (revision: number): string => `"${revision}"`;
export const ruleIdParameter = ({ params }: CallContext): number => Number(params['id']);
export const ruleResource = (params: Readonly<Record<string, string>>) => ({
  kind: 'automation-rule',
  id: `automation-rule:${params['id'] ?? 'new'}`,
});

/** The change of a rule by this call, for its revision. */
export function actOf(context: CallContext, { name }: Pick<Capability, 'name'>, reason?: string): RuleAct {
  return { action: name, author: actorOf(context), correlationId: context.correlationId, reason };
}
