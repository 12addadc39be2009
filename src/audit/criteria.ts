/** Search criteria [audit §4]: query parameters that match their patterns become exact values; further checks are made here. */
import { Fault } from '../base/fault.ts';

export interface Criteria {
  /** Only sequences strictly below; null without a limit. */
  readonly below: bigint | null;
  readonly limit: number;
  /** Inclusive, as stored: 3 fractional digits. */
  readonly from: string | null;
  readonly to: string | null;
  readonly filters: Filters;
}

/** Equality filters, combined with AND. */
export interface Filters {
  readonly action?: string;
  readonly resourceId?: string;
  readonly resourceKind?: string;
  readonly subjectId?: string;
}

const defaultLimit = 50;
const uint64Maximum = 2n ** 64n - 1n;
const int64Maximum = 2n ** 63n - 1n;
const cursorPattern = /^(0|[1-9][0-9]{0,19})$/;

export function criteriaOf(query: Readonly<Record<string, string>>, lastEventId?: string): Criteria {
  const { cursor, limit, from, to, action, resourceId, resourceKind, subjectId } = query;
  const given = cursor === undefined ? undefined : sequenceOf(cursor, 'cursor');
  const resumed = lastEventId === undefined ? undefined : sequenceOf(lastEventId, 'Last-Event-ID');
  if (given !== undefined && resumed !== undefined && given !== resumed)
    throw new Fault('invalid-input', 'cursor and Last-Event-ID disagree; give one');
  const below = given ?? resumed ?? null;
  const bounds = { from: momentOf(from, 'from'), to: momentOf(to, 'to') };
  if (bounds.from !== null && bounds.to !== null && bounds.from > bounds.to)
    throw new Fault('invalid-input', 'from is after to');
  return {
    // No sequence in the store is larger, so such a cursor excludes nothing.
    below: below !== null && below > int64Maximum ? null : below,
    limit: limit === undefined ? defaultLimit : Number(limit),
    ...bounds,
    filters: {
      ...(action === undefined ? {} : { action }),
      ...(resourceId === undefined ? {} : { resourceId }),
      ...(resourceKind === undefined ? {} : { resourceKind }),
      ...(subjectId === undefined ? {} : { subjectId }),
    },
  };
}

function sequenceOf(text: string, what: string): bigint {
  if (!cursorPattern.test(text) || BigInt(text) > uint64Maximum)
    throw new Fault('invalid-input', `${what} must be a sequence: a canonical decimal from 0 to 2^64-1`);
  return BigInt(text);
}

function momentOf(text: string | undefined, what: string): string | null {
  if (text === undefined) return null;
  const ms = Date.parse(text);
  const full = text.length === 24 ? text : text.replace('Z', '.000Z');
  // The round trip refuses invalid days, and hour 24.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== full)
    throw new Fault('invalid-input', `${what} is not a valid date and time`);
  return full;
}
