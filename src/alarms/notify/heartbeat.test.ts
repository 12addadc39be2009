/** The heartbeat [alarms §5.1]: sent while alarms are evaluated, and by nobody else. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { alarmLimits } from '../limits.ts';
import { startHeartbeat } from './heartbeat.ts';
import { sendHeartbeat } from './send.ts';
import { heartbeatTarget } from './targets.ts';

const period = alarmLimits.heartbeat_ms;

function bench() {
  const clock = simulatedClock();
  const state = { watches: true, refuses: false, beats: 0 };
  const lines: unknown[] = [];
  const warn = (message: string, fields?: object): void => void lines.push([message, fields]);
  const heartbeat = startHeartbeat({
    async send() {
      if (state.refuses) throw new Error('status 503');
      state.beats++;
    },
    watches: () => state.watches,
    clock,
    log: { ...silentLog, warn, error: warn },
    limits: alarmLimits,
  });
  const pass = async (ms: number): Promise<number> => {
    clock.advance(ms);
    for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    return state.beats;
  };
  return { state, lines, heartbeat, pass };
}

test('every `heartbeat_ms`, at its edge, until it is stopped', async () => {
  const { heartbeat, pass } = bench();
  expect(await pass(period - 1)).toBe(0);
  expect(await pass(1)).toBe(1);
  expect(await pass(period)).toBe(2);
  heartbeat.cancel();
  expect(await pass(period)).toBe(2);
});

test('none while alarms are not evaluated, so that the monitor notices', async () => {
  const { state, pass } = bench();
  state.watches = false;
  expect(await pass(period)).toBe(0);
  state.watches = true;
  expect(await pass(period)).toBe(1);
});

test('a failure is logged once, and the next heartbeat is sent at its time', async () => {
  const { state, lines, pass } = bench();
  state.refuses = true;
  await pass(period);
  await pass(period);
  expect(lines).toEqual([['the heartbeat was not accepted; trying again', { error: 'status 503' }]]);
  state.refuses = false;
  expect(await pass(period)).toBe(1);
});

test('a heartbeat is a GET with the token; a status other than 2xx is a failure', async () => {
  const seen: unknown[] = [];
  const server = createServer(({ method, url, headers }, response) => {
    seen.push([method, url, headers.authorization, headers['content-type']]);
    response.writeHead(seen.length === 1 ? 200 : 404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ping/1`;
  const target = heartbeatTarget({ heartbeat: { url, bearer_token_env: 'T' } }, { T: 'secret' });
  if (target === null) throw new Error('there is a heartbeat');
  const parts = { clock: systemClock, timeoutMs: 500 };
  await sendHeartbeat(target, parts);
  await expect(sendHeartbeat(target, parts)).rejects.toThrow('status 404');
  expect(seen[0]).toEqual(['GET', '/ping/1', 'Bearer secret', undefined]);
  await new Promise((resolve) => server.close(resolve));
});

test('its address follows the rules for receivers', () => {
  expect(heartbeatTarget({}, {})).toBeNull();
  expect(heartbeatTarget({ heartbeat: { url_env: 'PING' } }, { PING: 'https://a.example/x' })).toMatchObject({
    shown: 'notify.heartbeat (a.example)',
  });
  expect(() => heartbeatTarget({ heartbeat: 'http://a.example/' }, {})).toThrow(
    'service.yaml: notify.heartbeat: must use https, or be a loopback address',
  );
});
