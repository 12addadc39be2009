/**
 * Signed statements about a chain [audit §6]: a checkpoint contains its length and hash; a
 * mark says up to where events may be removed. Ed25519 over the canonical JSON of all members but the signature. A
 * statement names the key that signed it, so that it can be verified anywhere.
 */
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { canonicalJson } from '../base/canonical-json.ts';
import { decoder } from '../base/decode.ts';
import { noteLimits } from '../transparency/signed-note.ts';
import type { ChainOwner } from './store/chain.ts';

export interface AuditKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const identifier = Type.String({ minLength: 1, maxLength: 128 });
const statementSchema = Type.Object(
  {
    schema: Type.Enum(['svc.audit-checkpoint.v1', 'svc.audit-checkpoint.v2', 'svc.audit-mark.v1']),
    log: Type.Enum(['events', 'access']),
    tenantId: identifier,
    projectId: identifier,
    sequence: Type.String({ pattern: '^[1-9][0-9]{0,15}$' }),
    hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    issuedAt: Type.String({ minLength: 1, maxLength: 40 }),
    /** The same head as a signed note; in checkpoints of version 2. */
    note: Type.Optional(Type.String({ maxLength: noteLimits.textBytes })),
    /** The raw public key, base64url. */
    key: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
    signature: Type.String({ pattern: '^[A-Za-z0-9_-]{86}$' }),
  },
  { additionalProperties: false },
);

export type Statement = Static<typeof statementSchema>;
type StatementKind = 'checkpoint' | 'mark';
const markSchema = 'svc.audit-mark.v1';

const decode = decoder(statementSchema);

/** The raw public key in the form used by statements. */
export function keyName(publicKey: KeyObject): string {
  const { x } = publicKey.export({ format: 'jwk' });
  if (x === undefined) throw new Error('the audit key is not an Ed25519 key');
  return x;
}

export function signStatement(
  key: AuditKey,
  owner: ChainOwner,
  at: { readonly sequence: number; readonly hash: string; readonly issuedAt: string },
  /** Of a checkpoint; a mark has none. */
  note?: string,
): Statement {
  const { log, tenantId, projectId } = owner;
  const fields = {
    schema: note === undefined ? markSchema : 'svc.audit-checkpoint.v2',
    log,
    tenantId,
    projectId,
    sequence: String(at.sequence),
    hash: at.hash,
    issuedAt: at.issuedAt,
    key: keyName(key.publicKey),
    ...(note === undefined ? {} : { note }),
  } as const;
  const signature = sign(null, Buffer.from(canonicalJson(fields)), key.privateKey).toString('base64url');
  return { ...fields, signature };
}

/** The statement of this kind in `text`, if its own key signed it; the caller decides whether that key is trusted. */
export function readStatement(text: string, kind: StatementKind): Statement | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const decoded = decode(value);
  if (!decoded.ok || (decoded.value.schema === markSchema) !== (kind === 'mark')) return null;
  if ((decoded.value.schema === 'svc.audit-checkpoint.v2') !== (decoded.value.note !== undefined)) return null;
  const { signature, ...fields } = decoded.value;
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: fields.key }, format: 'jwk' });
    const good = verify(null, Buffer.from(canonicalJson(fields)), key, Buffer.from(signature, 'base64url'));
    return good ? decoded.value : null;
  } catch {
    return null;
  }
}

export interface StatementFile {
  readonly statements: readonly Statement[];
  /** Line numbers of invalid checkpoints, or those not signed by the key that they name. */
  readonly badLines: readonly number[];
}

/** A file of checkpoints, one per line. */
export function readCheckpoints(text: string): StatementFile {
  const statements: Statement[] = [];
  const badLines: number[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const statement = readStatement(line, 'checkpoint');
    if (statement === null) badLines.push(index + 1);
    else statements.push(statement);
  }
  return { statements, badLines };
}

/** Whether a statement is about this chain. */
export function isAbout(statement: Statement, owner: ChainOwner): boolean {
  return (
    statement.log === owner.log && statement.tenantId === owner.tenantId && statement.projectId === owner.projectId
  );
}
