/** The ports of gateway enrollment [platform §6.4]. */
import type { Scope } from '../call-context.ts';
import type { Journal, Receipt, RefusalRecord } from '../journal.ts';
import type { Gateway, GatewayView } from './gateway.ts';

type GatewayJournal = Journal<GatewayView, GatewayView>;

/**
 * - `committed`: gateway, receipt, audit event and outgoing event are stored, all of them.
 * - `key-used`: the key has a receipt. Nothing is stored.
 * - `revision-mismatch`: the stored gateway has another revision than expected. Nothing is stored.
 */
type Committed = 'committed' | 'key-used' | 'revision-mismatch';

export interface Gateways extends RefusalRecord {
  findReceipt(scope: Scope, idempotencyKey: string): Promise<Receipt<GatewayView> | null>;
  find(scope: Scope, gatewayId: string): Promise<Gateway | null>;
  /** `expectedRevision` null: there must be none yet. */
  commit(expectedRevision: number | null, gateway: Gateway, journal: GatewayJournal): Promise<Committed>;
}
