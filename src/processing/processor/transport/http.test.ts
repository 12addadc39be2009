/** The HTTP adapter's own behaviour: breaker, boundary, pinned names, no redirects and no proxy [processor §6]. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { processorMediaType } from '../../../api/processing.ts';
import { deadline } from '../../../base/deadline.ts';
import { type Log, silentLog } from '../../../base/log.ts';
import type { PinnedAddress } from '../../../egress/pinned-address.ts';
import { type AnswerServer, answerServer } from '../../../testing/answer-server.ts';
import { caseNowMs, loadQuestion, loadRequest, loadResult } from '../../../testing/load-fixture.ts';
import {
  answerToCall,
  contractSettings,
  hangingServer,
  processorContract,
} from '../../../testing/processor-contract.ts';
import { rawResponse, rawServer } from '../../../testing/raw-server.ts';
import { type SimulatedClock, simulatedClock } from '../../../testing/simulated-clock.ts';
import { refusalOf } from '../../derived/ask-processor.ts';
import { http } from './http.ts';
import type { AnswerRequest } from './in-process.ts';
import type { TransportSettings } from './transport.ts';

processorContract('over HTTP', async (settings, answer, clock, bearerToken) => {
  const server = await answerServer(answer);
  const endpoint = `http://127.0.0.1:${server.port}`;
  const processor = http({ ...settings, endpoint, boundary: 'local' }, { clock, bearerToken });
  return { processor, close: server.close };
});

const never = new AbortController().signal;
const { request } = loadQuestion();

describe('the HTTP adapter', () => {
  let clock: SimulatedClock;
  let server: AnswerServer;
  let answer: AnswerRequest;
  let asked: number;

  beforeEach(async () => {
    clock = simulatedClock(caseNowMs);
    asked = 0;
    answer = () => Promise.resolve(answerToCall(200, loadResult));
    server = await answerServer((...call) => {
      asked++;
      return answer(...call);
    });
  });
  afterEach(() => server.close());

  function processor(changes: Partial<TransportSettings> = {}, addresses?: readonly PinnedAddress[]) {
    const endpoint = `http://127.0.0.1:${server.port}/`;
    return http(
      { ...contractSettings, endpoint, boundary: 'local', ...changes },
      { clock, bearerToken: null, ...(addresses && { resolve: () => Promise.resolve(addresses) }) },
    );
  }
  const fails: AnswerRequest = () => Promise.reject(new Error('down'));
  const works: AnswerRequest = () => Promise.resolve(answerToCall(200, loadResult));

  describe('the breaker', () => {
    test('opens after 5 consecutive transport failures: 503 at once, with the time left as advice', async () => {
      answer = fails;
      const one = processor();
      for (let call = 1; call <= 5; call++)
        expect(await one.process(request, never)).toMatchObject({ reason: 'DISCONNECTED' });
      clock.advance(2500);
      const refused = await one.process(request, never);
      expect(refused).toEqual({
        outcome: 'unavailable',
        reason: 'CIRCUIT_OPEN',
        retryable: true,
        retryAfterSeconds: 8,
      });
      expect(asked).toBe(5);
    });

    test('4 failures and a success count from nothing again', async () => {
      const one = processor();
      for (let round = 0; round < 2; round++) {
        answer = fails;
        for (let call = 0; call < 4; call++) await one.process(request, never);
        answer = works;
        expect(await one.process(request, never)).toMatchObject({ outcome: 'answered' });
      }
      expect(asked).toBe(10);
    });

    test('an answer that is wrong, refused or busy is not a transport failure', async () => {
      const one = processor();
      for (const status of [500, 429, 422, 200, 200, 200]) {
        answer = () => Promise.resolve(answerToCall(status, 'nonsense'));
        await one.process(request, never);
      }
      expect(asked).toBe(6);
    });

    test.each([502, 503, 504])(
      '[processor §6.2] a proxy that answers %i for it, without an envelope, is a transport failure',
      async (status) => {
        answer = () => Promise.resolve({ ...answerToCall(status, {}), contentType: 'text/html' });
        const one = processor();
        for (let call = 1; call <= 5; call++) {
          const refused = await one.process(request, never);
          if (refused.outcome !== 'unavailable') throw new Error(refused.outcome);
          expect(refusalOf(refused)).toMatchObject({ code: 'processing-unavailable', status: 503, retryable: true });
        }
        expect(await one.process(request, never)).toMatchObject({ reason: 'CIRCUIT_OPEN' });
      },
    );

    test('half-open after 10 s: one trial, the others are refused at once; a failure opens it again, a success closes it', async () => {
      answer = fails;
      const one = processor();
      for (let call = 0; call < 5; call++) await one.process(request, never);
      clock.advance(9999);
      expect(await one.process(request, never)).toMatchObject({ reason: 'CIRCUIT_OPEN', retryAfterSeconds: 1 });
      clock.advance(1);
      const both = await Promise.all([one.process(request, never), one.process(request, never)]);
      expect(both).toMatchObject([{ reason: 'DISCONNECTED' }, { reason: 'CIRCUIT_OPEN' }]);
      clock.advance(9999);
      expect(await one.process(request, never)).toMatchObject({ reason: 'CIRCUIT_OPEN' });
      answer = works;
      clock.advance(1);
      expect(await one.process(request, never)).toMatchObject({ outcome: 'answered' });
      expect(await one.process(request, never)).toMatchObject({ outcome: 'answered' });
      expect(asked).toBe(8);
    });

    test('[data-processing §5.3] the egress callback runs right before the first byte leaves, and not if the call is refused here', async () => {
      const told: number[] = [];
      const leaving = async () => void told.push(asked);
      const one = processor();
      expect(await one.process(request, never, leaving)).toMatchObject({ outcome: 'answered' });
      expect(told).toEqual([0]);
      expect(await processor({ max_request_bytes: 100 }).process(request, never, leaving)).toEqual({
        outcome: 'oversized',
      });
      answer = fails;
      for (let call = 0; call < 5; call++) await one.process(request, never);
      expect(await one.process(request, never, leaving)).toMatchObject({ reason: 'CIRCUIT_OPEN' });
      expect([told, asked]).toEqual([[0], 6]);
    });

    test('an error before sending ends the call without a request, and does not use up the trial of a half-open breaker', async () => {
      answer = fails;
      const one = processor();
      for (let call = 0; call < 5; call++) await one.process(request, never);
      clock.advance(10_000);
      const refuses = () => Promise.reject(new Error('not recorded'));
      await expect(one.process(request, never, refuses)).rejects.toThrow('not recorded');
      expect(asked).toBe(5);
      answer = works;
      expect(await one.process(request, never)).toMatchObject({ outcome: 'answered' });
    });

    test('timeouts count; a cancelled call does not', async () => {
      const one = processor();
      const call = async (ended: 'timeout' | 'gone') => {
        const hang = hangingServer();
        answer = hang.answer;
        const caller = new AbortController();
        const called = one.process(request, caller.signal);
        await hang.reached;
        if (ended === 'gone') caller.abort(new Error('the client is gone'));
        else clock.advance(contractSettings.request_timeout_ms);
        expect(await called).toEqual({ outcome: 'timeout' });
      };
      for (let count = 0; count < 6; count++) await call('gone');
      for (let count = 0; count < 5; count++) await call('timeout');
      expect(await one.process(request, never)).toMatchObject({ reason: 'CIRCUIT_OPEN' });
      expect(asked).toBe(11);
    });

    test('shown in health, without calling the processor; another processor has a separate breaker', async () => {
      answer = fails;
      const one = processor();
      for (let call = 0; call < 5; call++) await one.process(request, never);
      expect(await one.health(never)).toEqual({ health: 'unavailable', latencyMs: null });
      expect(asked).toBe(5);
      answer = works;
      expect(await processor().process(request, never)).toMatchObject({ outcome: 'answered' });
    });
  });

  describe('where it goes', () => {
    const outside: PinnedAddress = { address: '192.0.2.1', family: 4 };
    const here: PinnedAddress = { address: '127.0.0.1', family: 4 };
    const named = (name: string) => ({ endpoint: `http://${name}:${server.port}/` });
    const nowhere = { outcome: 'unavailable', reason: 'CONNECTION_FAILED', retryable: true, retryAfterSeconds: null };

    test('local is loopback only, in every address of the name', async () => {
      expect(await processor(named('edge.example'), [here]).process(request, never)).toMatchObject({
        outcome: 'answered',
      });
      expect(await processor(named('edge.example'), [here, outside]).process(request, never)).toEqual(nowhere);
      expect(await processor(named('edge.example'), [outside]).process(request, never)).toEqual(nowhere);
      expect(await processor({ endpoint: `http://192.0.2.1:${server.port}/` }).process(request, never)).toEqual(
        nowhere,
      );
      expect(asked).toBe(1);
    });

    test('the log says why it does not answer, once until it does', async () => {
      const lines: unknown[] = [];
      const say = (text: string, details?: Readonly<Record<string, unknown>>): void => void lines.push([text, details]);
      const log: Log = { ...silentLog, warn: say, info: say };
      let addresses = [outside];
      const one = http(
        { ...contractSettings, ...named('edge.example'), boundary: 'local' },
        { clock, bearerToken: null, log, resolve: () => Promise.resolve(addresses) },
      );
      for (let call = 0; call < 3; call++) await one.process(request, never);
      const reason = 'no connection: edge.example does not resolve to this machine';
      const about = { processor: contractSettings.id, reason };
      expect(lines).toEqual([['a processor did not answer', about]]);
      addresses = [here];
      await one.process(request, never);
      expect(lines[1]).toEqual(['recovered', expect.objectContaining({ times: 3 })]);
    });

    test('a name is resolved once a call, and that answer is used', async () => {
      let resolved = 0;
      const one = http(
        { ...contractSettings, ...named('edge.example'), boundary: 'local' },
        {
          clock,
          bearerToken: null,
          // The second answer would redirect elsewhere.
          resolve: () => Promise.resolve(resolved++ === 0 ? [here] : [outside]),
        },
      );
      expect(await one.process(request, never)).toMatchObject({ outcome: 'answered' });
      expect(resolved).toBe(1);
    });

    test('remote is https only', () => {
      expect(() => processor({ boundary: 'remote' })).toThrow('not https');
      expect(() => processor({ boundary: 'remote', endpoint: 'https://forecast.example/' })).not.toThrow();
    });

    test('an unknown host name, and a closed port, answer 503', async () => {
      expect(await processor(named('edge.example'), []).process(request, never)).toEqual(nowhere);
      await server.close();
      const refused = await processor().process(request, never);
      expect(refused).toEqual(nowhere);
      if (refused.outcome !== 'unavailable') throw new Error('not unavailable');
      expect(refusalOf(refused)).toMatchObject({ code: 'processing-unavailable', status: 503, retryable: true });
    });

    test('connect_timeout_ms: a name that never resolves ends the call with 504', async () => {
      const one = http(
        { ...contractSettings, ...named('edge.example'), boundary: 'local' },
        { clock, bearerToken: null, resolve: () => new Promise(() => undefined) },
      );
      const called = one.process(request, never);
      clock.advance(contractSettings.connect_timeout_ms);
      expect(await called).toEqual({ outcome: 'timeout' });
    });

    test('a call whose signal has ended before it starts sends nothing', async () => {
      const limit = deadline(clock, 0);
      clock.advance(0);
      expect(await processor().process(request, limit.signal)).toEqual({ outcome: 'timeout' });
      expect(asked).toBe(0);
    });

    test('the routes hang below the path of the endpoint', async () => {
      const seen: string[] = [];
      const raw = await rawServer((socket, { head }) => {
        seen.push(head.split('\r\n', 1)[0] ?? '');
        socket.end(rawResponse(503, {}));
      });
      const one = processor({ endpoint: `http://127.0.0.1:${raw.port}/models` });
      await one.process(request, never);
      await one.health(never);
      expect(seen).toEqual(['POST /models/v1/process HTTP/1.1', 'GET /models/v1/health HTTP/1.1']);
      await raw.close();
    });

    test.each(['100 Continue', '103 Early Hints'])('[processor §6.1] an interim %s is passed over', async (interim) => {
      const raw = await rawServer((socket) => {
        const { body } = answerToCall(200, loadResult);
        socket.write(`HTTP/1.1 ${interim}\r\n\r\n`);
        socket.end(rawResponse(200, { 'content-type': processorMediaType }, Buffer.from(body)));
      });
      const one = processor({ endpoint: `http://127.0.0.1:${raw.port}/` });
      expect(await one.process(request, never)).toMatchObject({ outcome: 'answered' });
      await raw.close();
    });

    test('no redirect is followed', async () => {
      const raw = await rawServer(
        (socket) => void socket.end(rawResponse(307, { location: `http://127.0.0.1:${server.port}/v1/process` })),
      );
      const one = processor({ endpoint: `http://127.0.0.1:${raw.port}/` });
      expect(await one.process(request, never)).toMatchObject({
        outcome: 'rejected',
        rejection: { check: 'http_status' },
      });
      expect([raw.received.length, asked]).toEqual([1, 0]);
      await raw.close();
    });
  });

  test('[processor §2] the raw request carries nothing but the contract: no actor, no caller id, no route', async () => {
    const raw = await rawServer((socket) => void socket.end(rawResponse(503, {})));
    const one = processor({ endpoint: `http://127.0.0.1:${raw.port}/` });
    const carried = { ...request, actor: 'engineer@site', roles: ['Admin'], route: { endpoint: 'x' }, token: 'jwt' };
    await one.process(carried, never);
    const [sent] = raw.received;
    expect(JSON.parse(sent?.body ?? '')).toEqual(loadRequest);
    const names = (sent?.head ?? '')
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(':', 1)[0]?.toLowerCase());
    expect(names.toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'content-length',
      'content-type',
      'host',
    ]);
    await raw.close();
  });
});
