/** The tree's cryptography in Node: hashes, and keys that sign notes and cosignatures. */
import { createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';
import { cosignatureBytes, cosignedBytes } from './cosignature.ts';
import type { Cryptography } from './hashing.ts';
import { keyIdOf, keyTypes, type NoteSignature, type SignedNote, type Verifier } from './signed-note.ts';

export const nodeCryptography: Cryptography = {
  sha256: async (bytes) => new Uint8Array(hash('sha256', bytes, 'buffer')),
  async verifyEd25519(publicKey, signed, signature) {
    try {
      const x = Buffer.from(publicKey).toString('base64url');
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
      return verify(null, signed, key, signature);
    } catch {
      return false;
    }
  },
};

function rawPublicKey(key: KeyObject): Uint8Array {
  const { x } = key.export({ format: 'jwk' });
  if (x === undefined) throw new Error('the key is not an Ed25519 key');
  return new Uint8Array(Buffer.from(x, 'base64url'));
}

export interface NoteSigner {
  readonly verifier: Verifier;
  /** The note with only this signature. */
  sign(text: string): SignedNote;
}

/** Whether this raw Ed25519 key signed the note in the name of its origin. Synchronous. */
export function noteIsSignedWith({ text, signatures }: SignedNote, origin: string, publicKey: Uint8Array): boolean {
  const named = Buffer.concat([Buffer.from(`${origin}\n`), Uint8Array.of(keyTypes.log), publicKey]);
  const keyId = hash('sha256', named, 'buffer').subarray(0, 4);
  const x = Buffer.from(publicKey).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return signatures.some(
    ({ name, keyId: own, signature }) =>
      name === origin && keyId.equals(own) && verify(null, Buffer.from(text), key, signature),
  );
}

/** Signs notes in the name of a log. */
export async function noteSigner(
  name: string,
  key: { privateKey: KeyObject; publicKey: KeyObject },
): Promise<NoteSigner> {
  const publicKey = rawPublicKey(key.publicKey);
  const keyId = await keyIdOf(name, keyTypes.log, publicKey, nodeCryptography);
  return {
    verifier: { name, type: keyTypes.log, keyId, publicKey },
    sign(text) {
      const signature = new Uint8Array(sign(null, Buffer.from(text), key.privateKey));
      return { text, signatures: [{ name, keyId, signature }] };
    },
  };
}

export interface Cosigner {
  readonly verifier: Verifier;
  cosign(text: string, timeSeconds: number): NoteSignature;
}

/** Cosigns checkpoints in the name of a witness. */
export async function cosigner(name: string, key: { privateKey: KeyObject; publicKey: KeyObject }): Promise<Cosigner> {
  const publicKey = rawPublicKey(key.publicKey);
  const keyId = await keyIdOf(name, keyTypes.witness, publicKey, nodeCryptography);
  return {
    verifier: { name, type: keyTypes.witness, keyId, publicKey },
    cosign(text, timeSeconds) {
      const signature = new Uint8Array(sign(null, cosignedBytes(text, timeSeconds), key.privateKey));
      return { name, keyId, signature: cosignatureBytes(timeSeconds, signature) };
    },
  };
}
