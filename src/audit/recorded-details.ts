/** The details of what succeeded, for commands that answer from the log [audit §1]. */
import { isObject, parseJson } from '../base/json.ts';
import type { Database } from '../storage/database.ts';
import type { AuditScope } from './event.ts';
import { chainHead } from './store/chain-store.ts';

export interface RecordedDetails {
  /** RFC 3339 UTC with milliseconds. */
  readonly occurredAt: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Of the successful events of an action since `from` whose details may have a member, oldest first; those that retention removed are
 * missing. The database selects by the text, so that others are not read; the caller checks the member.
 */
export async function recordedDetails(
  { query }: Database,
  scope: AuditScope,
  action: string,
  member: string,
  from: string,
): Promise<readonly RecordedDetails[]> {
  const head = await chainHead(query, { log: 'events', ...scope });
  if (head === null) return [];
  const rows = await query
    .selectFrom('audit_event as event')
    .innerJoin('audit_details as kept', (on) =>
      on.onRef('kept.chain_id', '=', 'event.chain_id').onRef('kept.sequence', '=', 'event.sequence'),
    )
    .select(['event.occurred_at as occurredAt', 'kept.details as text'])
    .where('event.chain_id', '=', head.chainId)
    .where('event.action', '=', action)
    .where('event.outcome', '=', 'succeeded')
    .where('event.occurred_at', '>=', from)
    .where('kept.details', 'like', `%"${member}":%`)
    .orderBy('event.sequence')
    .execute();
  return rows.flatMap(({ occurredAt, text }) => {
    const details = parseJson(text);
    return isObject(details) ? [{ occurredAt, details }] : [];
  });
}
