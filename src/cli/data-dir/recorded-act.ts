/** A command's change of the data dir, recorded: accepted before it begins, and concluded with its outcome. */
import type { AuditEntry } from '../../audit/event.ts';
import type { AuditLog } from '../../audit/log.ts';
import { InProgress, inProgressEveryMs } from '../../audit/store/in-progress.ts';
import type { Clock } from '../../base/clock.ts';
import { newId } from '../../base/id.ts';
import { silentLog } from '../../base/log.ts';
import { repeatedly } from '../../base/repeatedly.ts';
import type { Database } from '../../storage/database.ts';

type Act = Pick<AuditEntry, 'action' | 'resource' | 'confirmation'>;
type Details = Readonly<Record<string, unknown>>;

/** Records that each act was accepted; returns a function that records their outcome. */
export type BeginActs = (acts: readonly Act[], asked: Details) => Promise<EndActs>;
export type EndActs = (outcome: 'succeeded' | 'failed', details: Details) => Promise<void>;

/** A service that starts or runs at the same time does not close these acts, however long they take. */
export function recordedActs(database: Database, audit: AuditLog, clock: Clock): BeginActs {
  return async (acts, asked) => {
    const common = {
      subject: { kind: 'system', subjectId: 'setpoint-cli' },
      risk: 'high',
      correlationId: newId(),
    } as const satisfies Partial<AuditEntry>;
    const inProgress = new InProgress(database, clock, common.correlationId);
    await inProgress.renew();
    const accepted: { readonly act: Act; readonly eventId: string }[] = [];
    for (const act of acts) {
      const { eventId } = await audit.append({ ...common, ...act, outcome: 'accepted', details: asked });
      accepted.push({ act, eventId });
    }
    const renewing = repeatedly(clock, inProgressEveryMs, silentLog, () => inProgress.renew());
    return async (outcome, details) => {
      renewing.cancel();
      for (const { act, eventId } of accepted)
        await audit.append({ ...common, ...act, outcome, acceptedEventId: eventId, details: { ...asked, ...details } });
      await inProgress.end();
    };
  };
}
