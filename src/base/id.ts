/** The only access to randomness: identifiers and secrets. */
import { v7 } from 'uuid';
import { systemClock } from './clock.ts';

const idBytes = 16;
/** Random bytes for the next identifiers: requested in batches, they cost a tenth. */
const pool = new Uint8Array(idBytes * 256);
let taken = pool.length;
let lastMs = Number.NEGATIVE_INFINITY;
let sequence = 0;
/** A millisecond's sequence starts in the lower half of its range, so that it cannot overflow. */
const sequenceBits = 31;
const sequenceMax = 2 ** 32 - 1;

/** A new UUIDv7: unique, and sortable by creation time. */
export function newId(): string {
  if (taken === pool.length) {
    crypto.getRandomValues(pool);
    taken = 0;
  }
  const random = pool.subarray(taken, taken + idBytes);
  taken += idBytes;
  const nowMs = systemClock.wallMs();
  if (nowMs > lastMs || sequence === sequenceMax) {
    lastMs = Math.max(nowMs, lastMs + 1);
    sequence = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> (32 - sequenceBits);
  } else sequence++;
  return v7({ random, msecs: lastMs, seq: sequence });
}

/** Sorts before every identifier created at this time or later, and after all created earlier. */
export function firstIdAt(wallMs: number): string {
  const digits = Math.max(0, Math.floor(wallMs)).toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}`;
}

const secretBytes = 32;

/** A new secret of 32 random bytes as base64url. */
export function newSecret(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(secretBytes))).toString('base64url');
}

/** Correlation identifiers that a caller may choose [platform §2.2]: 8..128 of `A-Za-z0-9._:-`, first alphanumeric. */
export const correlationIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{7,127}$/;
