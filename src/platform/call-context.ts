/**
 * Who calls an application contract, in which scope, and by when: the untrusted context, decoded. Tenant, project, subject
 * and permissions come from here and never from the input.
 */
import Type from 'typebox';
import { correlationIdPattern } from '../base/id.ts';
import type { ApplicationContract } from './application-contract.ts';
import { instantMs } from './instant.ts';
import { platformLimits } from './limits.ts';
import { ownMembers, untrusted } from './untrusted.ts';

export interface Scope {
  readonly tenantId: string;
  readonly projectId: string;
}

export interface CallSubject {
  readonly kind: 'user' | 'service-account' | 'gateway' | 'system';
  readonly subjectId: string;
}

export interface QueryContext {
  readonly scope: Scope;
  readonly subject: CallSubject;
  readonly permissions: readonly string[];
}

export interface CommandContext extends QueryContext {
  readonly idempotencyKey: string;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  /** Null when the caller did not confirm. */
  readonly confirmedAtMs: number | null;
}

/** Tenants, projects, subjects and the ids of rows [platform §6.1]. */
export const contextIdentifier = Type.String({ pattern: /^[A-Za-z0-9._:-]{1,128}$/ });

const identity = {
  tenantId: contextIdentifier,
  projectId: contextIdentifier,
  subjectKind: Type.Union([
    Type.Literal('user'),
    Type.Literal('service-account'),
    Type.Literal('gateway'),
    Type.Literal('system'),
  ]),
  subjectId: contextIdentifier,
};

// An issuer may grant permissions that are not ours, in an alphabet of their own.
const permissions = Type.Array(Type.String({ pattern: /^[!-~]{1,128}$/ }), {
  maxItems: platformLimits.permissions_max,
});

const decodeIdentity = untrusted(Type.Object(identity));
const decodeQuery = untrusted(Type.Object({ ...identity, permissions }, { additionalProperties: false }));
const decodeCommand = untrusted(
  Type.Object(
    {
      ...identity,
      permissions,
      // The key is the correlation id of the command's audit event.
      idempotencyKey: Type.String({ pattern: correlationIdPattern }),
      issuedAt: Type.String(),
      expiresAt: Type.String(),
      confirmation: Type.Optional(
        Type.Object({ method: Type.Literal('explicit'), confirmedAt: Type.String() }, { additionalProperties: false }),
      ),
    },
    { additionalProperties: false },
  ),
);

interface Identity {
  readonly tenantId: string;
  readonly projectId: string;
  readonly subjectKind: CallSubject['kind'];
  readonly subjectId: string;
}

export function decodeQueryContext(value: unknown): QueryContext | null {
  const context = decodeQuery(value);
  return context === null ? null : { ...whoOf(context), permissions: context.permissions };
}

/** The context of a command, or null; `contract` says which kind of subject may call. */
export function decodeCommandContext(contract: ApplicationContract, value: unknown): CommandContext | null {
  const context = decodeCommand(value);
  if (context === null) return null;
  if (contract.subjectKind !== null && contract.subjectKind !== context.subjectKind) return null;
  const issuedAtMs = instantMs(context.issuedAt);
  const expiresAtMs = instantMs(context.expiresAt);
  const confirmedAtMs = context.confirmation === undefined ? null : instantMs(context.confirmation.confirmedAt);
  if (issuedAtMs === null || expiresAtMs === null) return null;
  if (context.confirmation !== undefined && confirmedAtMs === null) return null;
  const { idempotencyKey } = context;
  return {
    ...whoOf(context),
    permissions: context.permissions,
    idempotencyKey,
    issuedAtMs,
    expiresAtMs,
    confirmedAtMs,
  };
}

/** Scope and subject of a context that is otherwise wrong: enough to record the refusal where it belongs. */
export function decodeWho(value: unknown): Pick<QueryContext, 'scope' | 'subject'> | null {
  // The rest of it may be anything: the caller is recorded, however invalid the call is.
  const who = decodeIdentity(ownMembers(value, Object.keys(identity)));
  return who === null ? null : whoOf(who);
}

function whoOf(context: Identity): Pick<QueryContext, 'scope' | 'subject'> {
  return {
    scope: Object.freeze({ tenantId: context.tenantId, projectId: context.projectId }),
    subject: Object.freeze({ kind: context.subjectKind, subjectId: context.subjectId }),
  };
}
