/** Enrollment tokens [platform §6.4]: 32 random bytes in base64url, of which only the SHA-256 is stored. */
import { timingSafeEqual } from 'node:crypto';
import { sha256Hex } from '../../base/digest.ts';
import type { Gateway } from './gateway.ts';

const tokenBytes = 32;

/** The form of an encoded token; any other text was not issued here. */
export const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

export function newToken(freshBytes: (count: number) => Uint8Array): string {
  const bytes = freshBytes(tokenBytes);
  if (bytes.length !== tokenBytes) throw new Error('the source of random bytes gave another number than asked for');
  return Buffer.from(bytes).toString('base64url');
}

export function tokenDigestOf(token: string): string {
  return sha256Hex(token);
}

/** Compares two byte strings of equal length in a time that does not depend on where they differ. */
export type ConstantTimeEqual = (left: Uint8Array, right: Uint8Array) => boolean;

/** Compared if there is no stored digest: no text with this SHA-256 is known. */
const nothing = Buffer.alloc(32);

/**
 * The gateway if `digest` is that of its token. For an unknown gateway and one in another state a dummy digest is compared,
 * so that neither the answer nor its time reveals which of the three it was.
 */
export function gatewayOfToken(
  gateway: Gateway | null,
  digest: string,
  equal: ConstantTimeEqual = timingSafeEqual,
): Extract<Gateway, { state: 'awaiting-claim' }> | null {
  const awaiting = gateway?.state === 'awaiting-claim' ? gateway : null;
  const wanted = awaiting === null ? nothing : Buffer.from(awaiting.tokenDigest, 'hex');
  const matches = equal(Buffer.from(digest, 'hex'), wanted);
  return matches ? awaiting : null;
}
