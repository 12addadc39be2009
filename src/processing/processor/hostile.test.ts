/**
 * A processor that lies, breaks, floods and hangs, over real HTTP: one named refusal each, no derived data, and neither its
 * words nor its address in the caller's answer ([data-processing §6.1] step 10, [data-processing §5.4]).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deadline } from '../../base/deadline.ts';
import {
  endlessAnswers,
  type HostileAnswer,
  leakMark,
  mutations,
  unreadableAnswers,
  untrueAnswers,
  untypedAnswers,
} from '../../testing/hostile-answers.ts';
import { caseNowMs, loadQuestion, loadResult } from '../../testing/load-fixture.ts';
import { type RawServer, rawResponse, rawServer } from '../../testing/raw-server.ts';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { askProcessor, type Processed, refusalOf } from '../derived/ask-processor.ts';
import { http } from './transport/http.ts';

const token = 'a-token-that-nobody-may-see';
const requestTimeoutMs = 4000;

const all: readonly HostileAnswer[] = [
  ...mutations(loadResult),
  ...untrueAnswers,
  ...unreadableAnswers,
  ...untypedAnswers,
  ...endlessAnswers,
];

describe('a hostile processor', () => {
  let server: RawServer;
  let current: HostileAnswer | null = null;
  let reached: () => void = () => undefined;
  const clock = simulatedClock(caseNowMs);

  beforeAll(async () => {
    server = await rawServer((socket) => {
      if (current === null)
        socket.end(
          rawResponse(
            200,
            { 'content-type': 'application/vnd.svc.data-processing+json; version=1' },
            JSON.stringify(loadResult),
          ),
        );
      else current.behave(socket, loadResult);
      reached();
    });
  });
  afterAll(() => server.close());

  /** A processor for each kind, so that the breaker of one does not affect the next. */
  async function ask(answer: HostileAnswer | null): Promise<Processed> {
    current = answer;
    const processor = http(
      {
        id: 'load-forecasting-edge',
        version: '0.1.0',
        contract: 'svc.data-processing.forecast.v1',
        endpoint: `http://127.0.0.1:${server.port}/`,
        boundary: 'local',
        max_request_bytes: 4_194_304,
        max_response_bytes: 4_194_304,
        connect_timeout_ms: 1000,
        request_timeout_ms: requestTimeoutMs,
      },
      { clock, bearerToken: token },
    );
    const own = deadline(clock, 10_000);
    const arrived = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const asked = askProcessor(
      processor,
      { question: loadQuestion(), callerId: 'caller-1' },
      { clock, signal: own.signal },
    );
    if (answer?.endless === true) {
      await arrived;
      clock.advance(requestTimeoutMs);
    }
    const processed = await asked;
    own.cancel();
    clock.jumpWall(caseNowMs - clock.wallMs());
    return processed;
  }

  test('there are at least 100 kinds, each with a unique name', () => {
    expect(all.length).toBeGreaterThanOrEqual(100);
    expect(new Set(all.map((each) => each.name)).size).toBe(all.length);
  });

  test('the valid result, from the same server, is accepted', async () => {
    expect((await ask(null)).outcome).toBe('derived');
  });

  test.each(all.map((each) => [each.name, each] as const))('%s', async (_, each) => {
    const processed = await ask(each);
    if (processed.outcome === 'derived') throw new Error('derived data came out');
    expect(told(processed).slice(0, each.expected.length)).toBe(each.expected);
    const fault = refusalOf(processed);
    expect([502, 503, 504]).toContain(fault.status);
    const words = JSON.stringify([fault.message, fault.details, processed]);
    for (const secret of [leakMark, '10.1.2.3', '127.0.0.1', String(server.port), token, 'node:', '.ts'])
      expect(words).not.toContain(secret);
  });
});

/** The refusal in one line. */
function told(processed: Exclude<Processed, { readonly outcome: 'derived' }>): string {
  switch (processed.outcome) {
    case 'rejected':
      return `rejected ${processed.rejection.check} ${processed.rejection.path} ${processed.rejection.rule ?? ''}`;
    case 'refused':
      return `refused ${processed.status} ${processed.code}`;
    case 'unavailable':
      return `unavailable ${processed.reason}`;
    case 'timeout':
    case 'oversized':
      return processed.outcome;
  }
}
