/**
 * Whether the answers that clients got on several machines have a sequential order, and whether the audit agrees with them
 * [platform §3], [audit §3]: every call has its two records, no sequence has a gap, the chains verify.
 */
import { expect } from 'vitest';
import { storageLimits } from '../../src/storage/server-limits.ts';
import { runOn } from '../../src/testing/engines.ts';
import { troubleWithRules } from '../../src/testing/rule-model.ts';
import type { RecordedCall } from './rule-clients.ts';
import { runCommand, serviceEnvironment } from './running-service.ts';
import type { Cluster } from './several-machines.ts';

interface Trail {
  accepted: number;
  /** Outcomes of the terminal records. */
  readonly ended: string[];
}

export async function checkHistory(cluster: Cluster, calls: readonly RecordedCall[]): Promise<void> {
  const trails = await trailsOf(cluster);
  const trailOf = ({ correlationId }: RecordedCall): Trail => trails.get(correlationId) ?? { accepted: 0, ended: [] };
  for (const call of calls.filter(({ input }) => input.kind !== 'read')) checkTrail(call, trailOf(call));
  expect(troubleWithRules(calls.flatMap((call) => witnessed(call, trailOf(call)))).join('\n\n')).toBe('');
  await checkChains(cluster);
}

/** The accepted record comes before the change, the terminal one before the answer. */
function checkTrail(call: RecordedCall, { accepted, ended }: Trail): void {
  const { output, isRecorded } = call;
  const told = JSON.stringify({ call, accepted, ended });
  if (output === null) {
    expect(accepted, told).toBeLessThanOrEqual(1);
    expect(ended.length, told).toBeLessThanOrEqual(accepted);
    return;
  }
  expect(accepted, told).toBe(1);
  // An answer may come without its terminal record, and says so; the record is added later.
  if (isRecorded) expect(ended, told).toEqual([output.status === 200 ? 'succeeded' : 'failed']);
}

/**
 * The effect of calls without an answer, as far as the audit tells: without an accepted record, or with a failed end, nothing
 * was changed; with a successful end it was, before now. Only a call without an end may have had its effect or not.
 */
function witnessed(call: RecordedCall, { accepted, ended }: Trail): readonly RecordedCall[] {
  if (call.output !== null) return [call];
  if (call.input.kind === 'read' || accepted === 0 || ended.includes('failed')) return [];
  return ended.includes('succeeded') && call.ruleId !== null ? [{ ...call, returnedMs: Number.MAX_VALUE }] : [call];
}

async function trailsOf(cluster: Cluster): Promise<Map<string, Trail>> {
  const rows = await ask(cluster, 'SELECT correlation_id, outcome FROM audit_event ORDER BY chain_id, sequence');
  const trails = new Map<string, Trail>();
  for (const row of rows) {
    const trail = trails.get(String(row['correlation_id'])) ?? { accepted: 0, ended: [] };
    trails.set(String(row['correlation_id']), trail);
    if (row['outcome'] === 'accepted') trail.accepted++;
    else trail.ended.push(String(row['outcome']));
  }
  return trails;
}

async function checkChains(cluster: Cluster): Promise<void> {
  const chains = await ask(
    cluster,
    `SELECT log, tenant_id, c.sequence::int AS head, count(e.sequence)::int AS events, min(e.sequence)::int AS first,
        max(e.sequence)::int AS last
      FROM audit_chain c LEFT JOIN audit_event e USING (chain_id) GROUP BY chain_id ORDER BY chain_id`,
  );
  for (const chain of chains) {
    const { head } = chain;
    expect(chain).toMatchObject({ events: head, first: 1, last: head });
  }
  // The site's own tenant, and those whose searches were recorded.
  expect(new Set(chains.map((chain) => chain['tenant_id'])).size).toBe(3);
  const [machine] = cluster.machines;
  if (machine === undefined) throw new Error('there is no machine');
  const environment = serviceEnvironment(machine.folders, { SVC_DATABASE_URL: cluster.postgres.url });
  const verified = runCommand('setpoint', ['audit', 'verify', '--json'], environment);
  expect(verified.status, verified.stdout + verified.stderr).toBe(0);
  const told = JSON.parse(verified.stdout) as { readonly chains: readonly object[] };
  expect(told.chains).toHaveLength(chains.length);
  for (const chain of told.chains) expect(chain).toMatchObject({ first: 1, broken: null });
}

function ask({ postgres }: Cluster, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return runOn({ url: postgres.url, limits: { ...storageLimits, connections_max: 1 } }, text);
}
