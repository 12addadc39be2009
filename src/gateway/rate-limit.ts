/** Rate limits of decisions §1: mutations and calls of data processing by subject, failed authentications by address. */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Fault } from '../base/fault.ts';
import type { GatewayLimits } from './limits.ts';

export interface RateLimits {
  /** Throws `rate-limited` when the subject has used up its minute. */
  countMutation(subjectId: string): Promise<void>;
  /** The same for calls of data processing: each costs a frame and two durable records. */
  countProcessing(subjectId: string): Promise<void>;
  /** Throws `rate-limited` when the address failed too often. */
  checkAddress(address: string): Promise<void>;
  countFailedAuthentication(address: string): Promise<void>;
}

const minuteSeconds = 60;

/** `windowSeconds` is what counts as a minute. */
export function createRateLimits(
  limits: Pick<
    GatewayLimits,
    'mutations_per_minute' | 'processing_calls_per_minute' | 'failed_authentications_per_minute'
  >,
  windowSeconds = minuteSeconds,
): RateLimits {
  const mutations = new RateLimiterMemory({ points: limits.mutations_per_minute, duration: windowSeconds });
  const processing = new RateLimiterMemory({ points: limits.processing_calls_per_minute, duration: windowSeconds });
  const failures = new RateLimiterMemory({ points: limits.failed_authentications_per_minute, duration: windowSeconds });
  return {
    countMutation: (subjectId) => consumed(mutations, subjectId, 'too many changes in a minute; slow down'),
    countProcessing: (subjectId) => consumed(processing, subjectId, 'too many calls in a minute; slow down'),
    async checkAddress(address) {
      const used = await failures.get(address);
      if (used !== null && used.consumedPoints >= limits.failed_authentications_per_minute) {
        throw refused(used, 'too many failed authentications from this address; wait');
      }
    },
    async countFailedAuthentication(address) {
      await failures.penalty(address);
    },
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
