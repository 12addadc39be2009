/**
 * Whether the audit trail can store an event now [platform §4.1]: appends one and rolls it back, and commits without a change. A disk that
 * became read-only refuses only the commit.
 */
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/id.ts';
import type { Database } from '../storage/database.ts';
import type { AuditScope } from './event.ts';
import { appendToChain, prepareEntry } from './store/chain-store.ts';

/** Thrown to roll back; nothing else ends the transaction that way. */
class Withdrawn extends Error {}

export async function auditIsWritable(database: Database, scope: AuditScope, clock: Clock): Promise<boolean> {
  const entry = prepareEntry({
    subject: { kind: 'system', subjectId: 'setpoint-ready' },
    action: 'platform.ready',
    resource: { kind: 'platform', resourceId: 'platform-ready' },
    outcome: 'succeeded',
    risk: 'low',
    confirmation: 'not-required',
    correlationId: newId(),
  });
  try {
    await database.transaction(async (transaction) => {
      await appendToChain(transaction, 'events', scope, [entry], clock.wallMs());
      throw new Withdrawn('the event was only tried');
    });
  } catch (error) {
    if (!(error instanceof Withdrawn)) return false;
  }
  return database.commitNothing().then(
    () => true,
    () => false,
  );
}
