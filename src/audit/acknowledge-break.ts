/**
 * Continues after a break that a person has acknowledged [audit §9.7]: its record is the first entry of a new tree with its
 * own name. The old tree is never signed again, because its witnesses would refuse it.
 */
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/id.ts';
import type { Database } from '../storage/database.ts';
import { isOrigin } from '../transparency/checkpoint.ts';
import type { ChainOwner } from './store/chain.ts';
import { appendToChain, chainHead, prepareEntry } from './store/chain-store.ts';
import { acknowledgeAction } from './store/chain-walk.ts';
import { beginTree, treesOf } from './tree/tree-store.ts';

export interface Acknowledgement {
  readonly reason: string;
  /** The operating-system account that ran the command. */
  readonly osUser: string;
  /** The finding of verification; null if only a witness reported it. */
  readonly broken: { readonly kind: string; readonly sequence: number; readonly reason: string } | null;
}

export async function acknowledgeBreak(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  owner: ChainOwner,
  { reason, osUser, broken }: Acknowledgement,
): Promise<{ readonly origin: string; readonly sequence: number }> {
  return database.transaction(async (transaction) => {
    const head = await chainHead(transaction, owner);
    const [first, ...others] = head === null ? [] : await treesOf(transaction, head.chainId);
    if (head === null || first === undefined)
      throw new Error('the log was never signed: there is nothing to begin anew');
    const segment = others.length + 2;
    const origin = `${first.origin}/${segment}`;
    if (!isOrigin(origin)) throw new Error(`the name of the audit log, ${origin}, is longer than 255 bytes`);
    const entry = prepareEntry({
      subject: { kind: 'system', subjectId: 'setpoint-cli' },
      action: acknowledgeAction,
      resource: { kind: 'audit-log', resourceId: 'audit-log' },
      outcome: 'succeeded',
      risk: 'critical',
      confirmation: 'explicit',
      correlationId: newId(),
      details: { reason, broken, log: owner.log, origin, os_user: osUser },
    });
    const [appended] = await appendToChain(transaction, owner.log, owner, [entry], clock.wallMs());
    if (appended === undefined) throw new Error('an append has no result');
    await beginTree(transaction, { chainId: head.chainId, segment, origin, first: appended.sequence });
    return { origin, sequence: appended.sequence };
  });
}
