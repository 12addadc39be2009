/** Which tokens count no more [identity §7.3]. */
import { expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import { gatewayLimits } from '../gateway/limits.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { isRevoked, Revocations } from './revocations.ts';
import type { Revocation } from './store/sign-in-store.ts';

const bySubject: Revocation = { kind: 'subject', value: 'ada', revokedMs: 1_000_500 };
const byToken: Revocation = { kind: 'token', value: 'id-1', revokedMs: 1_000_500 };
const token = (subject: string, tokenId: string | null, issuedAtSeconds: number | null) => ({
  subject,
  tokenId,
  issuedAtSeconds,
});

test('[identity §7.3] of a subject all that were issued by then, of the same second too; a later one counts', () => {
  expect([999, 1000, 1001].map((at) => isRevoked([bySubject], token('ada', null, at)))).toEqual([true, true, false]);
  expect(isRevoked([bySubject], token('ada', null, null))).toBe(true);
  expect(isRevoked([bySubject], token('grace', null, 999))).toBe(false);
});

test('[identity §7.3] a single one by its id; one without an id is not meant', () => {
  expect(isRevoked([byToken], token('ada', 'id-1', 2000))).toBe(true);
  expect(isRevoked([byToken], token('ada', 'id-2', 2000))).toBe(false);
  expect(isRevoked([byToken], token('id-1', null, 2000))).toBe(false);
});

test('[identity §7.3] the list is read again after `session_cache_ms`; while it cannot be read the last one counts, and before the first none', async () => {
  const clock = simulatedClock();
  let list: Revocation[] = [];
  let fails = true;
  let reads = 0;
  const revocations = async (): Promise<Revocation[]> => {
    reads++;
    if (fails) throw new Error('the database is away');
    return list;
  };
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const known = new Revocations({ store: { revocations }, clock, log, limits: gatewayLimits });
  const claims = token('ada', 'id-1', 2000);
  await expect(known.has(claims)).rejects.toThrow('away');
  fails = false;
  expect(await Promise.all([known.has(claims), known.has(claims)])).toEqual([false, false]);
  expect(reads).toBe(2);
  list = [byToken];
  clock.advance(gatewayLimits.session_cache_ms - 1);
  expect(await known.has(claims)).toBe(false);
  clock.advance(1);
  expect(await known.has(claims)).toBe(true);
  fails = true;
  clock.advance(gatewayLimits.session_cache_ms);
  expect(await Promise.all([known.has(claims), known.has(claims)])).toEqual([true, true]);
  const tried = reads;
  clock.advance(gatewayLimits.session_cache_ms - 1);
  expect(await known.has(claims)).toBe(true);
  expect(reads).toBe(tried);
  // However long that lasts, the log says it once.
  clock.advance(1);
  expect(await known.has(claims)).toBe(true);
  fails = false;
  clock.advance(gatewayLimits.session_cache_ms);
  expect(await known.has(claims)).toBe(true);
  expect(warnings).toEqual(['cannot read the revocation list; using the last known one']);
});
