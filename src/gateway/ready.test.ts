/** `/ready` [platform §4.1] over a real server. */
import { describe, expect, test } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { startTestGateway } from '../testing/test-gateway.ts';
import { type ReadyChecks, readyCapability } from './ready.ts';

const fine: ReadyChecks = { storage: () => true, audit: () => true, scheduler: () => true, devices: () => true };

async function ask(checks: ReadyChecks) {
  const clock = simulatedClock();
  const gateway = await startTestGateway([readyCapability(checks, clock)]);
  const get = async () => {
    const answer = await fetch(`${gateway.base}/ready`);
    return [answer.status, await answer.json()] as const;
  };
  return { clock, get, close: () => gateway.server.close() };
}

describe('[platform §4.1] ready', () => {
  test('200 with the status of each part, without a token', async () => {
    const { get, close } = await ask(fine);
    expect(await get()).toEqual([
      200,
      { status: 'ready', checks: { storage: 'ok', audit: 'ok', scheduler: 'ok', devices: 'ok' } },
    ]);
    await close();
  });

  test.each(['storage', 'audit', 'scheduler', 'devices'] as const)(
    '503 in the envelope without %s, words only',
    async (name) => {
      const secret = new Error('/var/lib/secret is full');
      const { get, close } = await ask({ ...fine, [name]: () => Promise.reject(secret) });
      const [status, body] = await get();
      expect(status).toBe(503);
      expect(body).toMatchObject({
        error: { code: 'not-ready', retryable: true, details: { checks: { [name]: 'unavailable' } } },
      });
      expect(JSON.stringify(body)).not.toContain('secret');
      await close();
    },
  );

  test('a part that does not answer is unavailable after its deadline', async () => {
    let waiting: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      waiting = resolve;
    });
    const { clock, get, close } = await ask({
      ...fine,
      scheduler: () => {
        waiting();
        return new Promise(() => undefined);
      },
    });
    const answer = get();
    await asked;
    clock.advance(2000);
    expect((await answer)[0]).toBe(503);
    await close();
  });

  test('however often it is asked, the parts are looked at once a second', async () => {
    let looks = 0;
    const { clock, get, close } = await ask({ ...fine, storage: () => ++looks > 0 });
    for (let n = 0; n < 5; n++) await get();
    clock.advance(999);
    await get();
    expect(looks).toBe(1);
    clock.advance(1);
    await get();
    expect(looks).toBe(2);
    await close();
  });
});
