/** The in-memory ports of provider-region discovery: the minimum that a real store and a real adapter must do. */
import { frozenCopy } from '../freeze.ts';
import { instant } from '../instant.ts';
import { decodeConnection } from './connection.ts';
import type { CloudConnection, CloudConnections, ProviderAdapter, Region } from './ports.ts';

export interface InMemoryCloudConnections extends CloudConnections {
  /** Adds or replaces; throws for an invalid connection and for one with a raw credential. */
  save(connection: CloudConnection): void;
}

export function inMemoryCloudConnections(): InMemoryCloudConnections {
  const rows = new Map<string, CloudConnection>();
  const keyOf = (...ids: readonly string[]): string => JSON.stringify(ids);
  return {
    save(connection) {
      const decoded = decodeConnection(connection);
      if (decoded === null) throw new Error('a cloud connection holds identifiers and a credential reference only');
      rows.set(keyOf(decoded.tenantId, decoded.projectId, decoded.connectionId), decoded);
    },
    async find(scope, connectionId) {
      return rows.get(keyOf(scope.tenantId, scope.projectId, connectionId)) ?? null;
    },
  };
}

/** An adapter whose provider has the same regions for everyone. */
export function inMemoryProviderAdapter(
  providerId: string,
  capabilities: readonly string[],
  regions: readonly Region[],
  nowMs: () => number,
): ProviderAdapter {
  const kept = frozenCopy(regions);
  return {
    providerId,
    capabilities: frozenCopy(capabilities),
    async discoverRegions({ connectionId }, signal) {
      if (signal.aborted) return { ok: false, code: 'provider-unavailable', retryable: true };
      return { ok: true, observation: { providerId, connectionId, observedAt: instant(nowMs()), regions: kept } };
    },
  };
}
