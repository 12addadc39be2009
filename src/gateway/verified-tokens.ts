/**
 * A cache of verified tokens until their expiry: a signature costs more than all the rest of a small answer. Everything that can
 * change is checked every time: expiry and revocation.
 */
import { hash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import type { Clock } from '../base/clock.ts';
import type { GatewayLimits } from './limits.ts';

export type Verify = (token: string) => Promise<JWTPayload>;

interface RememberParts {
  readonly clock: Clock;
  readonly limits: Pick<GatewayLimits, 'verified_tokens_max' | 'verified_token_ms'>;
  /** Seconds for which a token is still accepted after its expiry. */
  readonly toleranceSeconds: number;
}

/** `verify` with cached results. The cache stores digests, not the tokens themselves. */
export function rememberVerified(verify: Verify, parts: RememberParts): Verify {
  const { clock, limits, toleranceSeconds } = parts;
  const known = new Map<string, { readonly payload: JWTPayload; readonly endMs: number; readonly sinceMs: number }>();
  return async (token) => {
    const digest = hash('sha256', token, 'base64');
    const found = known.get(digest);
    const isFresh = found !== undefined && clock.monotonicMs() - found.sinceMs < limits.verified_token_ms;
    if (isFresh && clock.wallMs() < found.endMs) return found.payload;
    known.delete(digest);
    const payload = await verify(token);
    const endMs = ((payload.exp ?? 0) + toleranceSeconds) * 1000;
    known.set(digest, { payload, endMs, sinceMs: clock.monotonicMs() });
    const oldest = known.size > limits.verified_tokens_max ? known.keys().next().value : undefined;
    if (oldest !== undefined) known.delete(oldest);
    return payload;
  };
}
