/** A cloud connection as data from a store, decoded: raw credentials are refused, here and on the way into a store. */
import Type from 'typebox';
import { contextIdentifier, type Scope } from '../call-context.ts';
import { ownMembers, untrusted } from '../untrusted.ts';
import type { CloudConnection } from './ports.ts';

/**
 * Path segments of letters, digits and `._-`, so there is no place for a password, a query or a way up. The scheme is
 * exact: a reference names where a secret is kept, and everything else might be the secret.
 */
const credentialReference = Type.String({
  pattern:
    /^(secret|workload-identity):\/\/(?=.{1,512}$)[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*(?:#[A-Za-z0-9][A-Za-z0-9._-]*)?$/,
});

const place = { tenantId: contextIdentifier, projectId: contextIdentifier, connectionId: contextIdentifier };
const decodePlace = untrusted(Type.Object(place));

/** Whether a row, valid or not, is that of the requested connection. */
export function isConnectionOf(scope: Scope, connectionId: string, row: unknown): boolean {
  const found = decodePlace(ownMembers(row, Object.keys(place)));
  return (
    found !== null &&
    found.tenantId === scope.tenantId &&
    found.projectId === scope.projectId &&
    found.connectionId === connectionId
  );
}

export const decodeConnection: (value: unknown) => CloudConnection | null = untrusted(
  Type.Object(
    {
      ...place,
      providerId: contextIdentifier,
      enabled: Type.Boolean(),
      credentialReference,
    },
    { additionalProperties: false },
  ),
);
