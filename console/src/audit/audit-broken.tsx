/** The notice of a broken audit log, for the most visited pages [audit §9.7]. */
import { useAlarms } from '../alarms/alarm-list.ts';
import { mayHold } from '../alarms/alarm-words.ts';
import { Notice } from '../parts/tag.tsx';
import { auditWords } from '../strings/audit.ts';

export function AuditBroken() {
  const { data } = useAlarms();
  const isBroken = data?.some((alarm) => alarm.id === 'audit-broken' && mayHold(alarm)) ?? false;
  return isBroken ? (
    <Notice tone="bad" role="alert">
      {auditWords.broken}
    </Notice>
  ) : null;
}
