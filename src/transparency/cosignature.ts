/** Cosignatures of witnesses (C2SP tlog-cosignature, version 1): at this time, this head extended every head seen before. */
import { joined } from './base64.ts';
import type { Cryptography } from './hashing.ts';
import { keyTypes, type SignedNote, signaturesBy, type Verifier } from './signed-note.ts';

const timeBytes = 8;

/** The bytes that a witness signs for a checkpoint's text. */
export function cosignedBytes(text: string, timeSeconds: number): Uint8Array {
  return new TextEncoder().encode(`cosignature/v1\ntime ${timeSeconds}\n${text}`);
}

export function cosignatureBytes(timeSeconds: number, signature: Uint8Array): Uint8Array {
  const time = new Uint8Array(timeBytes);
  new DataView(time.buffer).setBigUint64(0, BigInt(timeSeconds));
  return joined(time, signature);
}

/** The time in a cosignature, in seconds since 1970, whether the signature is valid or not; 0 where there is none. */
export function cosignatureTime(signature: Uint8Array): number {
  if (signature.length <= timeBytes) return 0;
  const time = Number(new DataView(signature.buffer, signature.byteOffset).getBigUint64(0));
  return Number.isSafeInteger(time) ? time : 0;
}

/** When this witness cosigned the note, in seconds since 1970; null when it did not. */
export async function cosignedAt(
  note: SignedNote,
  witness: Verifier,
  cryptography: Cryptography,
): Promise<number | null> {
  if (witness.type !== keyTypes.witness) return null;
  for (const { signature } of signaturesBy(note, witness)) {
    const time = cosignatureTime(signature);
    if (time === 0) continue;
    const signed = cosignedBytes(note.text, time);
    if (await cryptography.verifyEd25519(witness.publicKey, signed, signature.subarray(timeBytes))) return time;
  }
  return null;
}
