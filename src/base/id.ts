/** The one door to randomness: identifiers and secrets. */
import { v7 } from 'uuid';

/** A fresh UUIDv7: unique, and sorted by time of making. */
export function newId(): string {
  return v7();
}

const secretBytes = 32;

/** A fresh secret of 32 random bytes as base64url. */
export function newSecret(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(secretBytes))).toString('base64url');
}

/** Correlation identifiers that a caller may choose (decisions §1): 8..128 of `A-Za-z0-9._:-`, first alphanumeric. */
export const correlationIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{7,127}$/;
