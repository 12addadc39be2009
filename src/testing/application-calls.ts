/** Contexts of calls of the application contracts, as a composition would pass them. */
import type { Clock } from '../base/clock.ts';
import type { ApplicationContract } from '../platform/application-contract.ts';
import type { Scope } from '../platform/call-context.ts';

export const callScope: Scope = { tenantId: 'tenant-1', projectId: 'project-1' };

export function at(clock: Clock, offsetMs = 0): string {
  return new Date(clock.wallMs() + offsetMs).toISOString();
}

export function queryContext(permission: string, overrides: object = {}): Record<string, unknown> {
  return { ...callScope, subjectKind: 'user', subjectId: 'ada', permissions: [permission], ...overrides };
}

/** Issued a second ago, valid for a minute, confirmed just now. */
export function commandContext(
  clock: Clock,
  contract: ApplicationContract,
  overrides: object = {},
): Record<string, unknown> {
  return {
    ...callScope,
    subjectKind: contract.subjectKind ?? 'user',
    subjectId: 'ada',
    permissions: contract.permission === null ? [] : [contract.permission],
    idempotencyKey: 'key-00000001',
    issuedAt: at(clock, -1000),
    expiresAt: at(clock, 60_000),
    ...(contract.confirmation === 'always' ? { confirmation: { method: 'explicit', confirmedAt: at(clock) } } : {}),
    ...overrides,
  };
}
