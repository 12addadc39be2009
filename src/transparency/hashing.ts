/**
 * The hashes of an RFC 6962 tree (docs/formats/audit.md), and the cryptography of a verifier: injected, because the APIs of
 * browsers and Node differ.
 */
import { joined } from './base64.ts';

export interface Cryptography {
  sha256(bytes: Uint8Array): Promise<Uint8Array>;
  /** Whether the raw Ed25519 public key signed these bytes. */
  verifyEd25519(publicKey: Uint8Array, signed: Uint8Array, signature: Uint8Array): Promise<boolean>;
}

export const hashBytes = 32;

export function leafInput(entry: Uint8Array): Uint8Array {
  return joined(Uint8Array.of(0), entry);
}

export function nodeInput(left: Uint8Array, right: Uint8Array): Uint8Array {
  return joined(Uint8Array.of(1), left, right);
}
