/** Actions and outcomes of audit events in words and colours. */
import type { Tone } from '../parts/tag.tsx';
import { t } from '../strings/index.ts';
import type { AuditEvent } from './audit-queries.ts';

export const outcomeTones: Record<AuditEvent['outcome'], Tone> = {
  accepted: 'info',
  succeeded: 'good',
  failed: 'bad',
  denied: 'warn',
  unknown: 'warn',
};

export function actionWords(action: string): string {
  return t.audit.actions[action] ?? action;
}
