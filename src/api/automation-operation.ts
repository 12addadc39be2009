/** The members that all operations of area A share, so that a descriptor names only its own. */
import type { TSchema } from 'typebox';
import type { Capability } from './capability.ts';

const prefix = '/api/v1/automation/api';

/** A descriptor's own members; the schemas keep their exact types, for typed clients. */
interface Operation<P extends TSchema, Q extends TSchema, A extends TSchema> {
  readonly name: string;
  readonly summary: string;
  /** Below the prefix. */
  readonly path: string;
  readonly params: P;
  readonly query: Q;
  readonly answer: A;
}

/** A read: any authenticated role, no audit. */
export function automationQuery<P extends TSchema, Q extends TSchema, A extends TSchema>(
  operation: Operation<P, Q, A>,
) {
  return {
    ...operation,
    method: 'GET',
    path: `${prefix}${operation.path}`,
    kind: 'query',
    risk: 'low',
    permission: 'automation.read',
    confirmation: 'never',
    confirmedIn: 'header',
    audit: 'not-required',
    idempotent: true,
    body: null,
  } as const;
}

/** A read that takes a body, such as a draft. */
export function automationQuestion<P extends TSchema, Q extends TSchema, B extends TSchema, A extends TSchema>(
  operation: Operation<P, Q, A> & { readonly body: B },
) {
  return { ...automationQuery(operation), method: 'POST', body: operation.body } as const;
}

/** A mutation: audited, and confirmed by the header and, unless the operation says otherwise, by the body too. */
export function automationCommand<P extends TSchema, Q extends TSchema, B extends TSchema, A extends TSchema>(
  operation: Operation<P, Q, A> &
    Pick<Capability, 'method' | 'risk' | 'idempotent'> & {
      readonly body: B;
      readonly permission?: Capability['permission'];
      readonly confirmedIn?: Capability['confirmedIn'];
    },
) {
  return {
    ...operation,
    path: `${prefix}${operation.path}`,
    kind: 'command',
    permission: operation.permission ?? 'automation.rule.manage',
    confirmation: 'always',
    confirmedIn: operation.confirmedIn ?? 'body',
    audit: 'required',
  } as const;
}
