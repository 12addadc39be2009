import { expect, test } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { gatewayLimits } from './limits.ts';
import { rememberVerified } from './verified-tokens.ts';

function rig(lifetimeSeconds = 3600, limits = gatewayLimits) {
  const clock = simulatedClock();
  const verified: string[] = [];
  const exp = Math.floor(clock.wallMs() / 1000) + lifetimeSeconds;
  const verify = rememberVerified(
    async (token) => {
      verified.push(token);
      if (token.startsWith('bad')) throw new Error('not verified');
      return { sub: token, exp };
    },
    { clock, limits, toleranceSeconds: 5 },
  );
  return { clock, verified, verify, exp };
}

test('[identity §1] a signature is verified once, and again after verified_token_ms', async () => {
  const { clock, verified, verify } = rig();
  expect(await verify('a')).toMatchObject({ sub: 'a' });
  clock.advance(gatewayLimits.verified_token_ms - 1);
  expect(await verify('a')).toMatchObject({ sub: 'a' });
  expect(verified).toEqual(['a']);
  clock.advance(1);
  await verify('a');
  expect(verified).toEqual(['a', 'a']);
});

test('[identity §1] an expired token is verified again despite the cache, and the library reports its expiry', async () => {
  const { clock, verified, verify, exp } = rig(10);
  await verify('a');
  clock.advance((exp + 5) * 1000 - clock.wallMs() - 1);
  await verify('a');
  expect(verified).toHaveLength(1);
  clock.advance(1);
  await verify('a');
  expect(verified).toHaveLength(2);
});

test('[identity §1] a token that is not good is never remembered; with more than verified_tokens_max the oldest is forgotten', async () => {
  const { verified, verify } = rig(3600, { ...gatewayLimits, verified_tokens_max: 2 });
  for (let time = 0; time < 2; time++) await expect(verify('bad')).rejects.toThrow('not verified');
  for (const token of ['a', 'b', 'a', 'b', 'c', 'b', 'a']) await verify(token);
  expect(verified).toEqual(['bad', 'bad', 'a', 'b', 'c', 'a']);
});
