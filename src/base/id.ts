/** The one door to randomness: identifiers. */
import { v7 } from 'uuid';

/** A fresh UUIDv7: unique, and sorted by time of making. */
export function newId(): string {
  return v7();
}

/** Correlation identifiers that a caller may choose (decisions §1): 8..128 of `A-Za-z0-9._:-`, first alphanumeric. */
export const correlationIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{7,127}$/;
