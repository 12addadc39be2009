/**
 * Signed notes (C2SP signed-note): a text that ends with a newline, an empty line, and one line per signature with the name of
 * its key. A reader ignores signatures of keys that it does not know.
 */
import { fromBase64, joined, sameBytes, toBase64, toHex } from './base64.ts';
import { type Cryptography, hashBytes } from './hashing.ts';

/** What is signed, by key type: 1 signs the note itself, 4 a cosignature of a witness. */
export const keyTypes = { log: 1, witness: 4 } as const;
export type KeyType = (typeof keyTypes)[keyof typeof keyTypes];

export interface NoteSignature {
  readonly name: string;
  /** The first four bytes of a signature, which distinguish keys of the same name. */
  readonly keyId: Uint8Array;
  readonly signature: Uint8Array;
}

export interface SignedNote {
  /** Ends with a newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** A public key with its name, as `name+id+key` (a vkey). */
export interface Verifier {
  readonly name: string;
  readonly type: KeyType;
  readonly keyId: Uint8Array;
  /** Raw Ed25519 public key. */
  readonly publicKey: Uint8Array;
}

export const noteLimits = { textBytes: 65_536, signatures: 100 } as const;

const utf8 = new TextEncoder();
const keyIdBytes = 4;

/** A key's name: not empty, without space or plus. */
export function isKeyName(name: string): boolean {
  return name !== '' && !/[\s+]|\p{Cc}/u.test(name);
}

/** Null for a text that is not a signed note. */
export function parseNote(note: string): SignedNote | null {
  if (utf8.encode(note).length > noteLimits.textBytes || /[^\P{Cc}\n]/u.test(note)) return null;
  const split = note.lastIndexOf('\n\n');
  if (split < 0 || !note.endsWith('\n')) return null;
  const lines = note.slice(split + 2, -1).split('\n');
  if (lines.length > noteLimits.signatures) return null;
  const signatures = lines.map(signatureOf);
  const whole = signatures.filter((signature) => signature !== null);
  return whole.length === lines.length ? { text: note.slice(0, split + 1), signatures: whole } : null;
}

export function signatureOf(line: string): NoteSignature | null {
  const match = /^— (\S+) (\S+)$/u.exec(line);
  const name = match?.[1] ?? '';
  const bytes = fromBase64(match?.[2] ?? '');
  if (!isKeyName(name) || bytes === null || bytes.length <= keyIdBytes) return null;
  return { name, keyId: bytes.slice(0, keyIdBytes), signature: bytes.slice(keyIdBytes) };
}

export function formatSignature({ name, keyId, signature }: NoteSignature): string {
  return `— ${name} ${toBase64(joined(keyId, signature))}\n`;
}

export function formatNote({ text, signatures }: SignedNote): string {
  return `${text}\n${signatures.map(formatSignature).join('')}`;
}

/** The key's id, the first four bytes of its signatures. */
export async function keyIdOf(
  name: string,
  type: KeyType,
  publicKey: Uint8Array,
  { sha256 }: Pick<Cryptography, 'sha256'>,
): Promise<Uint8Array> {
  return (await sha256(joined(utf8.encode(`${name}\n`), Uint8Array.of(type), publicKey))).slice(0, keyIdBytes);
}

export function formatVerifier({ name, type, keyId, publicKey }: Verifier): string {
  return `${name}+${toHex(keyId)}+${toBase64(joined(Uint8Array.of(type), publicKey))}`;
}

/** Null for a text that is not a vkey of a supported type, or whose id does not match its key. */
export async function parseVerifier(
  vkey: string,
  cryptography: Pick<Cryptography, 'sha256'>,
): Promise<Verifier | null> {
  const match = /^([^+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey);
  const name = match?.[1] ?? '';
  const key = fromBase64(match?.[3] ?? '');
  const type = Object.values(keyTypes).find((known) => known === key?.[0]);
  if (!isKeyName(name) || key === null || type === undefined || key.length !== 1 + hashBytes) return null;
  const publicKey = key.slice(1);
  const keyId = await keyIdOf(name, type, publicKey, cryptography);
  return toHex(keyId) === match?.[2] ? { name, type, keyId, publicKey } : null;
}

/** The signatures of a note that name this key. */
export function signaturesBy(note: SignedNote, verifier: Verifier): NoteSignature[] {
  return note.signatures.filter(({ name, keyId }) => name === verifier.name && sameBytes(keyId, verifier.keyId));
}

/** Whether this key signed the note: every signature in its name must be valid. */
export async function isSignedBy(note: SignedNote, verifier: Verifier, cryptography: Cryptography): Promise<boolean> {
  const own = signaturesBy(note, verifier);
  if (verifier.type !== keyTypes.log || own.length !== 1) return false;
  const [{ signature } = { signature: new Uint8Array() }] = own;
  return cryptography.verifyEd25519(verifier.publicKey, utf8.encode(note.text), signature);
}
