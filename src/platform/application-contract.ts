/**
 * An application contract [platform §6]: a use case that a composition calls and no route reaches. Its
 * descriptor is a capability's without the wire: no method, path or schema of a request, but what the caller owes.
 */
import type { Capability } from '../api/capability.ts';

/** Permissions of the application contracts; no role of the gateway grants them. */
type ApplicationPermission =
  | 'cloud-connections:read'
  | 'infrastructure.stack.plan'
  | 'fleet.gateway.create'
  | 'fleet.gateway.enrollment.issue'
  | 'fleet.gateway.enrollment.read';

export interface ApplicationContract extends Pick<Capability, 'name' | 'summary' | 'kind' | 'risk' | 'audit'> {
  /** Null when something else than a permission authorizes the call, as the enrollment token does. */
  readonly permission: ApplicationPermission | null;
  readonly confirmation: 'never' | 'always';
  /** `required`: the context carries an idempotency key, and the same key gets the same receipt. */
  readonly idempotency: 'not-required' | 'required';
  /** `required`: the context says from when until when the call may begin. */
  readonly expiry: 'not-required' | 'required';
  /** The one kind of subject that may call; null when any may. */
  readonly subjectKind: 'gateway' | null;
}

/** A use case: a function of an untrusted context and input that carries its descriptor and never throws a refusal. */
export type UseCase<Result, More extends readonly unknown[] = []> = ((
  context: unknown,
  input: unknown,
  ...more: More
) => Promise<Result>) & { readonly contract: ApplicationContract };

export function useCase<Result, More extends readonly unknown[]>(
  contract: ApplicationContract,
  call: (context: unknown, input: unknown, ...more: More) => Promise<Result>,
): UseCase<Result, More> {
  return Object.freeze(Object.assign(call, { contract }));
}

/** The common part of every query: it changes nothing, so it may be repeated at any time without a record. */
export function queryContract(
  contract: Pick<ApplicationContract, 'name' | 'summary' | 'risk' | 'permission'>,
): ApplicationContract {
  return Object.freeze({
    ...contract,
    kind: 'query',
    confirmation: 'never',
    audit: 'not-required',
    idempotency: 'not-required',
    expiry: 'not-required',
    subjectKind: null,
  });
}

/** The common part of every command: audited, keyed and bounded in time. */
export function commandContract(
  contract: Pick<ApplicationContract, 'name' | 'summary' | 'risk' | 'permission' | 'confirmation' | 'subjectKind'>,
): ApplicationContract {
  return Object.freeze({
    ...contract,
    kind: 'command',
    audit: 'required',
    idempotency: 'required',
    expiry: 'required',
  });
}
