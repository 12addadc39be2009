/** Provider-region discovery [platform §6.2]: a query of one connection's provider through its adapter. */
import Type from 'typebox';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type UseCase, useCase } from '../application-contract.ts';
import { contextIdentifier, type QueryContext } from '../call-context.ts';
import { type PlatformLimits, platformLimits } from '../limits.ts';
import { callOutside } from '../outside.ts';
import { type Refusal, refuseWith } from '../refusal.ts';
import { runQuery } from '../run-query.ts';
import { untrusted } from '../untrusted.ts';
import { decodeConnection, isConnectionOf } from './connection.ts';
import { discoverRegionsContract } from './contract.ts';
import { type Discovered, judgeAnswer } from './observation.ts';
import type { CloudConnections, ProviderAdapter } from './ports.ts';

export interface DiscoverRegionsParts {
  readonly connections: CloudConnections;
  readonly adapters: readonly ProviderAdapter[];
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: PlatformLimits;
}

interface Input {
  readonly connectionId: string;
}

const decodeInput = untrusted(Type.Object({ connectionId: contextIdentifier }, { additionalProperties: false }));

/** The use case; two adapters of one provider are a mistake of the composition and throw here. */
export function createDiscoverRegions(parts: DiscoverRegionsParts): UseCase<Discovered | Refusal> {
  const adapters = new Map<string, ProviderAdapter>();
  for (const adapter of parts.adapters) {
    if (adapters.has(adapter.providerId)) throw new Error(`provider ${adapter.providerId} has two adapters`);
    adapters.set(adapter.providerId, adapter);
  }
  const use = {
    contract: discoverRegionsContract,
    decodeInput,
    work: (context: QueryContext, input: Input) => discover(parts, adapters, context, input),
  };
  return useCase(discoverRegionsContract, (context, input) => runQuery(use, context, input));
}

async function discover(
  { connections, clock, log, limits = platformLimits }: DiscoverRegionsParts,
  adapters: ReadonlyMap<string, ProviderAdapter>,
  { scope }: QueryContext,
  { connectionId }: Input,
): Promise<Discovered | Refusal> {
  const found = await callOutside({
    clock,
    log,
    what: 'the lookup of a cloud connection',
    deadlineMs: limits.store_deadline_ms,
    call: () => connections.find(scope, connectionId),
  });
  if (found.kind !== 'answered') return refuseWith('storage-unavailable');
  // A store that answers with another tenant's row must neither give access to it nor reveal what is wrong with it.
  if (!isConnectionOf(scope, connectionId, found.value)) return refuseWith('cloud-connection-not-found');
  const connection = decodeConnection(found.value);
  if (connection === null) return refuseWith('cloud-connection-invalid');
  if (!connection.enabled) return refuseWith('cloud-connection-disabled');
  const adapter = adapters.get(connection.providerId);
  if (adapter === undefined) return refuseWith('provider-adapter-not-registered');
  const request = Object.freeze({ ...scope, connectionId, credentialReference: connection.credentialReference });
  const answer = await callOutside({
    clock,
    log,
    what: 'a provider adapter',
    deadlineMs: limits.adapter_deadline_ms,
    call: (signal) => adapter.discoverRegions(request, signal),
  });
  if (answer.kind !== 'answered') return refuseWith('provider-unavailable');
  return judgeAnswer(answer.value, connection, adapter, limits.regions_max);
}
