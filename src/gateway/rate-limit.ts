/**
 * Rate limits of [platform §2.4] and [identity §6]: mutations and calls of data processing by subject of a tenant and project, failed
 * authentications by address. Only failures are refused for the failures of an address, never a valid token.
 */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Subject } from '../api/capability.ts';
import { Fault } from '../base/fault.ts';
import { addressKey } from './client-address.ts';
import type { GatewayLimits } from './limits.ts';

export interface RateLimits {
  /** Throws `rate-limited` if the subject has exceeded its limit per minute. */
  countMutation(subject: BudgetOwner): Promise<void>;
  /** The same for calls of data processing: each costs a frame and two durable records. */
  countProcessing(subject: BudgetOwner): Promise<void>;
  /** The same for searches of the audit: each leaves a record. */
  countSearch(subject: BudgetOwner): Promise<void>;
  /** Counts a failure, and throws `rate-limited` if the address had too many before. */
  countFailedAuthentication(address: string): Promise<void>;
}

/** Owner of the budget: subjects of two tenants may have the same name. */
type BudgetOwner = Pick<Subject, 'tenantId' | 'projectId' | 'subjectId'>;

const keyOf = ({ tenantId, projectId, subjectId }: BudgetOwner): string =>
  JSON.stringify([tenantId, projectId, subjectId]);

const minuteSeconds = 60;

/** `windowSeconds` is the length of a minute. */
export function createRateLimits(
  limits: Pick<
    GatewayLimits,
    | 'mutations_per_minute'
    | 'processing_calls_per_minute'
    | 'audit_searches_per_minute'
    | 'failed_authentications_per_minute'
  >,
  windowSeconds = minuteSeconds,
): RateLimits {
  const mutations = new RateLimiterMemory({ points: limits.mutations_per_minute, duration: windowSeconds });
  const processing = new RateLimiterMemory({ points: limits.processing_calls_per_minute, duration: windowSeconds });
  const searches = new RateLimiterMemory({ points: limits.audit_searches_per_minute, duration: windowSeconds });
  const failures = new RateLimiterMemory({ points: limits.failed_authentications_per_minute, duration: windowSeconds });
  return {
    countMutation: (subject) => consumed(mutations, keyOf(subject), 'too many changes in a minute; slow down'),
    countProcessing: (subject) => consumed(processing, keyOf(subject), 'too many calls in a minute; slow down'),
    countSearch: (subject) => consumed(searches, keyOf(subject), 'too many searches in a minute; slow down'),
    countFailedAuthentication: (address) =>
      consumed(failures, addressKey(address), 'too many failed authentications from this address; wait'),
  };
}

async function consumed(limiter: RateLimiterMemory, key: string, message: string): Promise<void> {
  try {
    await limiter.consume(key);
  } catch (error) {
    throw refused(error, message);
  }
}

function refused(result: unknown, message: string): Fault {
  if (result instanceof RateLimiterRes)
    return new Fault('rate-limited', message, { retryAfterMs: result.msBeforeNext });
  throw result;
}
