import { describe, expect, test } from 'vitest';
import type { StreamSocket } from '../api/live-stream.ts';
import { closeCodes } from '../api/live-stream.ts';
import { Fault } from '../base/fault.ts';
import { silentLog } from '../base/log.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { automationLimits } from './limits.ts';
import { createLiveStream, type StreamSubject, sessionCheckMs } from './live-stream.ts';

const record = (ruleId: number, number: number): ExecutionRecord => ({
  execution_id: `0192a000-0000-7000-8000-${String(number).padStart(12, '0')}`,
  rule_id: ruleId,
  rule_revision: 1,
  trigger: { type: 'interval' },
  started_at: '2026-05-01T00:00:00.000Z',
  duration_us: 1,
  outcome: 'no_action',
  success: true,
  error: null,
  actions_executed: [],
  execution_path: [],
  matched_condition: null,
  variable_values: {},
  node_details: {},
  correlation_id: 'correlation-1',
});

interface TestSocket extends StreamSocket {
  readonly sent: { type: string; data?: Record<string, unknown>; error?: { code: string } }[];
  closed: { code: number; reason: string } | undefined;
  pings: number;
  buffered: number;
  say(message: unknown): void;
  pong(): void;
  pingUs(): void;
  leave(): void;
}

function testSocket(): TestSocket {
  let onMessage: (text: string | null) => void = () => undefined;
  let onPing = (): void => undefined;
  let onPong = (): void => undefined;
  let onClose = (): void => undefined;
  const socket: TestSocket = {
    sent: [],
    closed: undefined,
    pings: 0,
    buffered: 0,
    session: null,
    isForeign: false,
    send: (text) => void socket.sent.push(JSON.parse(text)),
    close(code, reason) {
      socket.closed = { code, reason };
    },
    bufferedBytes: () => socket.buffered,
    onMessage(listener) {
      onMessage = listener;
    },
    onPing(listener) {
      onPing = listener;
    },
    onPong(listener) {
      onPong = listener;
    },
    onClose(listener) {
      onClose = listener;
    },
    say: (message) => onMessage(typeof message === 'string' ? message : JSON.stringify(message)),
    ping: () => void socket.pings++,
    pong: () => onPong(),
    pingUs: () => onPing(),
    leave: () => onClose(),
  };
  return socket;
}

function setup(
  limits: Partial<typeof automationLimits> = {},
  subject: StreamSubject | null = { mayRead: true, expiresAtMs: null },
) {
  const clock = simulatedClock();
  const watched: number[][] = [];
  const followed: string[][] = [];
  const pushes: ((values: readonly object[]) => boolean)[] = [];
  const sessions = new Map<string, StreamSubject | Fault>();
  const complaints: string[] = [];
  const complain = (message: string): void => void complaints.push(message);
  const stream = createLiveStream({
    clock,
    log: { ...silentLog, warn: complain, error: complain },
    limits: { ...automationLimits, ...limits },
    async authenticateSession(cookie) {
      const found = sessions.get(cookie) ?? null;
      if (found instanceof Fault) throw found;
      return found;
    },
    authenticate: (token) => Promise.resolve(token === 'good' ? subject : null),
    watch: (ids) => void watched.push([...ids]),
    feeds: {
      point: {
        follow(channels = [], push) {
          if (channels.includes('9:action:9')) throw new Fault('invalid-input', 'no such point');
          followed.push([...channels]);
          pushes.push(push);
          return () => void followed.shift();
        },
      },
      alarm: {
        follow(channels, push) {
          followed.push(channels === undefined ? ['all alarms'] : [...channels]);
          pushes.push(push);
          return () => void followed.shift();
        },
      },
    },
  });
  return { clock, stream, watched, followed, pushes, sessions, complaints };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const subscribe = (channels: number[]) => ({ type: 'subscribe', data: { source: 'rule', channels } });

async function openSocket(stream: ReturnType<typeof setup>['stream'], channels: number[]): Promise<TestSocket> {
  const socket = testSocket();
  stream.connect(socket);
  socket.say({ type: 'authenticate', token: 'good' });
  await settle();
  socket.say(subscribe(channels));
  return socket;
}

describe('[rules §8] live stream', () => {
  test('authenticate, subscribe to several rules, then each record as it happens', async () => {
    const { stream, watched } = setup();
    const socket = await openSocket(stream, [1, 2]);
    expect(socket.sent.map((message) => message.type)).toEqual(['authenticated', 'subscribed']);
    expect(watched).toEqual([[1, 2]]);
    stream.publish([record(1, 1), record(3, 2), record(2, 3)]);
    expect(socket.sent.slice(2)).toEqual([
      { type: 'rule_execution', data: record(1, 1) },
      { type: 'rule_execution', data: record(2, 3) },
    ]);
    socket.leave();
    expect(watched.at(-1)).toEqual([]);
  });

  test('`stream_authenticate_ms`: a client that does not authenticate within 5 s is closed; one at the edge is not', async () => {
    const { clock, stream } = setup();
    const slow = testSocket();
    const quick = testSocket();
    stream.connect(slow);
    stream.connect(quick);
    clock.advance(4999);
    quick.say({ type: 'authenticate', token: 'good' });
    await settle();
    clock.advance(1);
    expect(slow.closed).toEqual({ code: 4001, reason: 'unauthenticated' });
    expect(quick.closed).toBeUndefined();
  });

  test.each([
    ['a wrong token', { type: 'authenticate', token: 'bad' }],
    ['a subscription before the token', subscribe([1])],
    ['no JSON', '{'],
  ])('%s closes the socket and says nothing', async (_name, message) => {
    const { stream } = setup();
    const socket = testSocket();
    stream.connect(socket);
    socket.say(message);
    await settle();
    expect(socket.closed).toBeDefined();
    expect(socket.sent).toEqual([]);
  });

  test('a token that may not read is closed as denied', async () => {
    const { stream } = setup({}, { mayRead: false, expiresAtMs: null });
    const socket = testSocket();
    stream.connect(socket);
    socket.say({ type: 'authenticate', token: 'good' });
    await settle();
    expect(socket.closed?.code).toBe(4003);
  });

  test('the socket closes when the token expires, and not before', async () => {
    const { clock, stream } = setup({}, { mayRead: true, expiresAtMs: 1_700_000_060_000 });
    const socket = await openSocket(stream, [1]);
    clock.advance(59_999);
    expect(socket.closed).toBeUndefined();
    clock.advance(1);
    expect(socket.closed).toEqual({ code: 4001, reason: 'token expired' });
    stream.publish([record(1, 1)]);
    expect(socket.sent.map((message) => message.type)).not.toContain('rule_execution');
  });

  test('a slow reader gets the exact number of missed records, and the newest', async () => {
    const { clock, stream } = setup({ stream_buffer: 3 });
    const socket = await openSocket(stream, [1]);
    socket.buffered = automationLimits.stream_socket_bytes;
    for (let number = 1; number <= 10; number++) stream.publish([record(1, number)]);
    expect(socket.sent.slice(2)).toEqual([]);
    socket.buffered = 0;
    clock.advance(1000);
    expect(socket.sent.slice(2)).toEqual([
      { type: 'missed', data: { count: 7 } },
      ...[8, 9, 10].map((number) => ({ type: 'rule_execution', data: record(1, number) })),
    ]);
  });

  test('a client that sends more messages or pings in a second than `stream_messages_per_second` is disconnected', async () => {
    const { clock, stream, watched } = setup({ stream_messages_per_second: 3 });
    // Signing in and subscribing were two.
    const socket = await openSocket(stream, [1]);
    socket.pingUs();
    expect(socket.closed).toBeUndefined();
    clock.advance(1000);
    socket.say(subscribe([1]));
    socket.say(subscribe([2]));
    socket.pingUs();
    expect(socket.closed).toBeUndefined();
    socket.say(subscribe([3]));
    expect(socket.closed).toEqual({ code: 1008, reason: 'more than 3 messages a second' });
    socket.say(subscribe([4]));
    expect(watched.at(-1)).toEqual([]);
    // Pings of a client that has not signed in count as well.
    const stranger = testSocket();
    stream.connect(stranger);
    for (let count = 0; count < 4; count++) stranger.pingUs();
    expect(stranger.closed?.code).toBe(1008);
  });

  test.each(['message', 'ping'])(
    'a client that does not read and sends a %s is disconnected at twice `stream_socket_bytes`',
    async (what) => {
      const { stream } = setup();
      const socket = await openSocket(stream, [1]);
      const send = (): void => (what === 'ping' ? socket.pingUs() : socket.say(subscribe([1])));
      socket.buffered = 2 * automationLimits.stream_socket_bytes - 1;
      send();
      expect(socket.closed).toBeUndefined();
      socket.buffered++;
      send();
      expect(socket.closed).toEqual({ code: 1008, reason: 'answers are not read' });
    },
  );

  test('limits: one client too many, one channel too many', async () => {
    const { stream } = setup({ stream_clients: 1, stream_channels: 2 });
    const socket = await openSocket(stream, [1, 2]);
    expect(socket.sent.at(-1)?.type).toBe('subscribed');
    socket.say(subscribe([1, 2, 3]));
    expect(socket.sent.at(-1)).toMatchObject({ type: 'error', error: { code: 'invalid-input' } });
    const second = testSocket();
    stream.connect(second);
    expect(second.closed).toBeUndefined();
    second.say({ type: 'authenticate', token: 'good' });
    await settle();
    expect(second.closed).toEqual({ code: 1013, reason: 'too many clients' });
  });

  test('a client that vanished keeps its place for two times stream_ping_ms at most, at its edge', async () => {
    const { stream, clock } = setup({ stream_clients: 1, stream_ping_ms: 1000 });
    const gone = await openSocket(stream, [1]);
    clock.advance(999);
    expect(gone.pings).toBe(0);
    clock.advance(1);
    expect(gone.pings).toBe(1);
    gone.pong();
    clock.advance(1000);
    expect(gone.pings).toBe(2);
    clock.advance(999);
    expect(gone.closed).toBeUndefined();
    clock.advance(1);
    expect(gone.closed).toEqual({ code: 1008, reason: 'no answer to a ping' });
    const next = await openSocket(stream, [1]);
    expect(next.sent.at(-1)?.type).toBe('subscribed');
    gone.pong();
    clock.advance(10_000);
    expect(gone.pings).toBe(2);
  });

  test('a slow client, which has not taken what was sent, is not judged by its silence', async () => {
    const { stream, clock } = setup({ stream_ping_ms: 1000 });
    const slow = await openSocket(stream, [1]);
    clock.advance(1000);
    slow.buffered = 1;
    clock.advance(5000);
    expect([slow.pings, slow.closed]).toEqual([1, undefined]);
    slow.buffered = 0;
    clock.advance(1000);
    expect([slow.pings, slow.closed]).toEqual([2, undefined]);
    clock.advance(1000);
    expect(slow.closed?.reason).toBe('no answer to a ping');
  });

  test('strangers take no place of `stream_clients`, however many connect', async () => {
    const { stream } = setup({ stream_clients: 1 });
    const strangers = Array.from({ length: 10 }, testSocket);
    for (const stranger of strangers) stream.connect(stranger);
    const socket = await openSocket(stream, [1]);
    expect(socket.sent.at(-1)?.type).toBe('subscribed');
    expect(strangers.every(({ closed }) => closed === undefined)).toBe(true);
  });

  test('[points §8.3] points beside rules: each subscription replaces its own kind; a full socket receives none; both end with it', async () => {
    const { stream, followed, pushes } = setup({ stream_points: 2 });
    const socket = await openSocket(stream, [1]);
    const points = (channels: string[]) => ({ type: 'subscribe', data: { source: 'point', channels } });
    socket.say(points(['1:action:1', '1:measurement:1']));
    expect(socket.sent.at(-1)).toMatchObject({ type: 'subscribed', data: { source: 'point' } });
    expect(pushes[0]?.([{ value: 1 }])).toBe(true);
    expect(socket.sent.at(-1)).toEqual({ type: 'point_values', data: [{ value: 1 }] });
    stream.publish([record(1, 1)]);
    expect(socket.sent.at(-1)?.type).toBe('rule_execution');
    for (const refused of [['1:action:1', '1:action:2', '1:action:3'], ['9:action:9']]) {
      socket.say(points(refused));
      expect(socket.sent.at(-1)).toMatchObject({ type: 'error', error: { code: 'invalid-input' } });
    }
    expect(followed).toEqual([['1:action:1', '1:measurement:1']]);
    socket.say(points(['1:action:2']));
    expect(followed).toEqual([['1:action:2']]);
    socket.buffered = automationLimits.stream_socket_bytes;
    expect(pushes[1]?.([{ value: 2 }])).toBe(false);
    socket.leave();
    expect(followed).toEqual([]);
  });

  test('[alarms §4.3] alarms beside both, all or some; `stream_alarms`, at its edge', async () => {
    const { stream, followed, pushes } = setup({ stream_alarms: 2 });
    const socket = await openSocket(stream, [1]);
    const alarms = (channels?: string[]) => ({ type: 'subscribe', data: { source: 'alarm', channels } });
    socket.say(alarms());
    expect(socket.sent.at(-1)).toEqual({ type: 'subscribed', data: { source: 'alarm' } });
    expect(pushes[0]?.([{ id: 'a' }])).toBe(true);
    expect(socket.sent.at(-1)).toEqual({ type: 'alarms', data: [{ id: 'a' }] });
    socket.say(alarms(['a', 'b']));
    expect(followed).toEqual([['a', 'b']]);
    socket.say(alarms(['a', 'b', 'c']));
    expect(socket.sent.at(-1)).toMatchObject({ type: 'error', error: { code: 'invalid-input' } });
    socket.leave();
    expect(followed).toEqual([]);
  });

  test('[identity §7.1] a session opens the stream without a token, and its end closes it within `sessionCheckMs`', async () => {
    const { clock, stream, sessions } = setup();
    sessions.set('cookie', { mayRead: true, expiresAtMs: null });
    const socket: TestSocket = { ...testSocket(), session: 'cookie' };
    stream.connect(socket);
    socket.say({ type: 'authenticate' });
    await settle();
    expect(socket.sent.at(-1)).toEqual({ type: 'authenticated' });
    clock.advance(sessionCheckMs);
    await settle();
    expect(socket.sent).toHaveLength(1);
    sessions.clear();
    clock.advance(sessionCheckMs - 1);
    await settle();
    clock.advance(1);
    await settle();
    socket.say(subscribe([1]));
    // Closed: nothing more is sent.
    expect(socket.sent).toHaveLength(1);
    const stranger = testSocket();
    stream.connect(stranger);
    stranger.say({ type: 'authenticate' });
    await settle();
    expect(stranger.closed?.code).toBe(4001);
  });

  test('[identity §7.1] a page of another host does not open the stream with a session, but may with a token', async () => {
    const { stream } = setup();
    const said = async (message: object): Promise<TestSocket> => {
      const socket: TestSocket = Object.assign(testSocket(), { isForeign: true });
      stream.connect(socket);
      socket.say(message);
      await settle();
      return socket;
    };
    const refused = await said({ type: 'authenticate' });
    expect([refused.sent, refused.closed?.code]).toEqual([[], 4003]);
    expect((await said({ type: 'authenticate', token: 'good' })).sent).toEqual([{ type: 'authenticated' }]);
    expect((await said({ type: 'authenticate', token: 'bad' })).closed?.code).toBe(4001);
  });

  test('[identity §9] a suspended session reads nothing: its stream ends, and a new one is refused as retryable', async () => {
    const { clock, stream, sessions, complaints } = setup();
    const away = new Fault('provider-unavailable', 'away');
    sessions.set('cookie', { mayRead: true, expiresAtMs: null });
    const connected = async (): Promise<TestSocket> => {
      const socket = Object.assign(testSocket(), { session: 'cookie' });
      stream.connect(socket);
      socket.say({ type: 'authenticate' });
      await settle();
      return socket;
    };
    const socket = await connected();
    expect(socket.sent).toEqual([{ type: 'authenticated' }]);
    sessions.set('cookie', away);
    clock.advance(sessionCheckMs);
    await settle();
    const again = await connected();
    for (const { closed } of [socket, again])
      expect(closed).toMatchObject({ code: closeCodes.busy, reason: 'try again' });
    expect(again.sent).toEqual([]);
    // Every page reconnects again and again, which would flood the log.
    expect(complaints).toEqual([]);
    sessions.set('cookie', new Fault('storage-unavailable', 'away'));
    expect((await connected()).closed).toMatchObject({ code: closeCodes.busy });
    expect(complaints).toEqual(['cannot check a live stream token']);
    sessions.set('cookie', { mayRead: true, expiresAtMs: null });
    expect((await connected()).sent).toEqual([{ type: 'authenticated' }]);
  });

  test('a binary message is refused', async () => {
    const { stream } = setup();
    let receive: (text: string | null) => void = () => undefined;
    const socket = testSocket();
    stream.connect({ ...socket, onMessage: (listener) => void (receive = listener), close: socket.close });
    receive(null);
    expect(socket.closed?.code).toBe(1003);
  });
});
