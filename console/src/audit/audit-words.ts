/** Actions and outcomes of audit events in words and colours. */
import type { Tone } from '../parts/tag.tsx';
import { auditWords } from '../strings/audit.ts';
import type { AuditEvent } from './audit-queries.ts';

export const outcomeTones: Record<AuditEvent['outcome'], Tone> = {
  accepted: 'info',
  succeeded: 'good',
  failed: 'bad',
  denied: 'warn',
  unknown: 'warn',
};

/** The rule that a resource is; null for every other. */
export function ruleIdOf(resourceId: string): number | null {
  const digits = /^automation-rule:([1-9][0-9]{0,15})$/.exec(resourceId)?.[1];
  return digits === undefined ? null : Number(digits);
}

export function actionWords(action: string): string {
  return auditWords.actions[action] ?? action;
}
