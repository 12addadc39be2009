/** SHA-256 as lowercase hexadecimal. */
import { createHash, hash } from 'node:crypto';
import type { Steps } from './turns.ts';

/** Bytes that are hashed in one step. */
const stepBytes = 262_144;

export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** As `sha256Hex`, in steps: for a text of some megabytes. */
export function* sha256Steps(text: string): Steps<string> {
  const bytes = Buffer.from(text);
  if (bytes.length <= stepBytes) return sha256Hex(bytes);
  const begun = createHash('sha256');
  for (let from = 0; from < bytes.length; from += stepBytes) {
    yield;
    begun.update(bytes.subarray(from, from + stepBytes));
  }
  return begun.digest('hex');
}
