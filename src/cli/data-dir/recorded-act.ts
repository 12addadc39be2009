/** A command's change of the data dir, recorded: accepted before it begins, and concluded with its outcome. */
import type { AuditEntry } from '../../audit/event.ts';
import type { AuditLog } from '../../audit/log.ts';
import { newId } from '../../base/id.ts';

type Act = Pick<AuditEntry, 'action' | 'resource' | 'confirmation'>;

/** Records that each act was accepted; the answer records how all of them ended. */
export async function begunAct(audit: AuditLog, acts: readonly Act[], asked: Readonly<Record<string, unknown>>) {
  const common = {
    subject: { kind: 'system', subjectId: 'setpoint-cli' },
    risk: 'high',
    correlationId: newId(),
  } as const satisfies Partial<AuditEntry>;
  const accepted: { readonly act: Act; readonly eventId: string }[] = [];
  for (const act of acts) {
    const { eventId } = await audit.append({ ...common, ...act, outcome: 'accepted', details: asked });
    accepted.push({ act, eventId });
  }
  return async (outcome: 'succeeded' | 'failed', details: Readonly<Record<string, unknown>>): Promise<void> => {
    for (const { act, eventId } of accepted)
      await audit.append({ ...common, ...act, outcome, acceptedEventId: eventId, details: { ...asked, ...details } });
  };
}
