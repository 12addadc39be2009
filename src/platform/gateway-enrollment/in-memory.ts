/** The in-memory store of gateways: one synchronous commit, in which everything is stored or nothing is. */
import type { Scope } from '../call-context.ts';
import { frozenCopy } from '../freeze.ts';
import { createInMemoryJournal, type InMemoryJournal } from '../in-memory-journal.ts';
import type { Gateway, GatewayView } from './gateway.ts';
import type { Gateways } from './ports.ts';

export interface InMemoryGateways extends Gateways {
  readonly journal: InMemoryJournal<GatewayView, GatewayView>;
  /** Every stored aggregate, so that tests can search all of them. */
  all(): readonly Gateway[];
}

export function inMemoryGateways(): InMemoryGateways {
  const gateways = new Map<string, Gateway>();
  const journal = createInMemoryJournal<GatewayView, GatewayView>();
  const keyOf = (scope: Scope, gatewayId: string): string =>
    JSON.stringify([scope.tenantId, scope.projectId, gatewayId]);
  return {
    journal,
    all: () => [...gateways.values()],
    async findReceipt(scope, idempotencyKey) {
      return journal.receipt(scope, idempotencyKey);
    },
    async find(scope, gatewayId) {
      return gateways.get(keyOf(scope, gatewayId)) ?? null;
    },
    async commit(expectedRevision, gateway, entry) {
      const { scope, idempotencyKey } = entry.receipt;
      if (journal.receipt(scope, idempotencyKey) !== null) return 'key-used';
      const key = keyOf(scope, gateway.gatewayId);
      if ((gateways.get(key)?.revision ?? null) !== expectedRevision) return 'revision-mismatch';
      const kept = frozenCopy(gateway);
      journal.append(entry);
      gateways.set(key, kept);
      return 'committed';
    },
    async recordRefusal(scope, entry) {
      journal.recordRefusal(scope, entry);
    },
  };
}
