/** Rate limits of decisions §1: mutations by subject, failed authentications by address. */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Fault } from '../base/fault.ts';
import type { GatewayLimits } from './limits.ts';

export interface RateLimits {
  /** Throws `rate-limited` when the subject has used up its minute. */
  countMutation(subjectId: string): Promise<void>;
  /** Throws `rate-limited` when the address failed too often. */
  checkAddress(address: string): Promise<void>;
  countFailedAuthentication(address: string): Promise<void>;
}

const minuteSeconds = 60;

/** `windowSeconds` is what counts as a minute. */
export function createRateLimits(
  limits: Pick<GatewayLimits, 'mutations_per_minute' | 'failed_authentications_per_minute'>,
  windowSeconds = minuteSeconds,
): RateLimits {
  const mutations = new RateLimiterMemory({ points: limits.mutations_per_minute, duration: windowSeconds });
  const failures = new RateLimiterMemory({ points: limits.failed_authentications_per_minute, duration: windowSeconds });
  return {
    async countMutation(subjectId) {
      try {
        await mutations.consume(subjectId);
      } catch (error) {
        throw refused(error, 'too many changes in a minute; slow down');
      }
    },
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

function refused(result: unknown, message: string): Fault {
  if (result instanceof RateLimiterRes)
    return new Fault('rate-limited', message, { retryAfterMs: result.msBeforeNext });
  throw result;
}
