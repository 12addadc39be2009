/**
 * The live stream `/ws` [rules §8]: a client authenticates, names rules, and gets each of their execution records
 * as it happens. The engine never waits for a client: a slow one misses records and receives their number.
 */

import {
  closeCodes,
  decodeStreamMessage,
  expiredReason,
  type StreamMessage,
  type StreamSocket,
} from '../api/live-stream.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { Fifo } from '../base/fifo.ts';
import type { Log } from '../base/log.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import type { AutomationLimits } from './limits.ts';

/** The subject of a token, and its expiry. */
export interface StreamSubject {
  readonly mayRead: boolean;
  readonly expiresAtMs: number | null;
}

/** Receives changes; returns false while it cannot accept any. */
export type FeedReader = (changed: readonly object[]) => boolean;
/** Values of points, or alarms. */
export interface Feed {
  /**
   * Sends everything in `channels` first, then changes, until the returned function is called. Throws a Fault for an unknown name.
   * Without `channels`, follows everything.
   */
  follow(channels: readonly string[] | undefined, push: FeedReader): () => void;
}

export interface LiveStreamParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: AutomationLimits;
  /** Of a token, and of a session cookie; verified again while the stream is open. */
  readonly authenticate: (token: string) => Promise<StreamSubject | null>;
  readonly authenticateSession: (cookie: string) => Promise<StreamSubject | null>;
  /** Tells the engine which rules anyone listens to. */
  readonly watch: (ruleIds: readonly number[]) => void;
  readonly feeds: Readonly<Record<'point' | 'alarm', Feed>>;
}

export interface LiveStream {
  connect(socket: StreamSocket): void;
  publish(records: readonly ExecutionRecord[]): void;
  /** Names the watched rules again, to an engine that has just started. */
  renew(): void;
  close(): void;
}

/** Interval at which a client whose socket is full is checked again. */
const retryMs = 50;
/** Interval at which the session of an open stream is verified again, in milliseconds. */
export const sessionCheckMs = 2000;
const secondMs = 1000;
/** Answers may wait in addition to records, which alone fill a socket up to `stream_socket_bytes`. */
const unreadShare = 2;
/** Longest delay of a runtime timer; a token with a longer lifetime is verified again then. */
const timerMaxMs = 2_000_000_000;

interface Client {
  readonly socket: StreamSocket;
  readonly channels: Set<number>;
  readonly waiting: Fifo<ExecutionRecord>;
  readonly unfollow: { point: () => void; alarm: () => void };
  state: 'new' | 'checking' | 'open' | 'closed';
  missed: number;
  /** Messages and pings in the second that started then. */
  heard: { sinceMs: number; count: number };
  deadline: Timer | undefined;
  retry: Timer | undefined;
  recheck: Timer | undefined;
  beat: Timer | undefined;
  /** It has answered the last ping. */
  answered: boolean;
}

/** Serialized once for all readers; records are immutable. */
const messages = new WeakMap<ExecutionRecord, string>();

function messageOf(record: ExecutionRecord): string {
  const known = messages.get(record);
  if (known !== undefined) return known;
  const text = JSON.stringify({ type: 'rule_execution', data: record });
  messages.set(record, text);
  return text;
}

/** Its cause was logged at the request to the provider. */
const isSuspended = (error: unknown): boolean => error instanceof Fault && error.code === 'provider-unavailable';

export function createLiveStream(parts: LiveStreamParts): LiveStream {
  const { clock, log, limits } = parts;
  const clients = new Set<Client>();

  const drop = (client: Client): void => {
    if (client.state === 'closed') return;
    client.state = 'closed';
    client.deadline?.cancel();
    client.retry?.cancel();
    client.recheck?.cancel();
    client.beat?.cancel();
    client.unfollow.point();
    client.unfollow.alarm();
    clients.delete(client);
    if (client.channels.size > 0) watchAgain();
  };
  const end = (client: Client, code: number, reason: string): void => {
    drop(client);
    client.socket.close(code, reason);
  };
  const watchAgain = (): void => {
    const ids = new Set<number>();
    for (const client of clients) for (const id of client.channels) ids.add(id);
    parts.watch([...ids]);
  };
  const say = (client: Client, message: unknown): void => client.socket.send(JSON.stringify(message));

  /** Sends pending records as far as the socket accepts them; the number of missed records precedes the next one. */
  const drain = (client: Client): void => {
    client.retry = undefined;
    if (client.state !== 'open') return;
    const hasRoom = (): boolean => client.socket.bufferedBytes() < limits.stream_socket_bytes;
    if (client.missed > 0 && hasRoom()) {
      say(client, { type: 'missed', data: { count: client.missed } });
      client.missed = 0;
    }
    let sent = 0;
    for (const record of client.waiting) {
      if (client.missed > 0 || !hasRoom()) break;
      client.socket.send(messageOf(record));
      sent++;
    }
    client.waiting.take(sent);
    if (client.waiting.length > 0 || client.missed > 0) client.retry = clock.after(retryMs, () => drain(client));
  };

  /** The newest record replaces the oldest: a reader that catches up gets the latest state. */
  const enqueue = (client: Client, record: ExecutionRecord): void => {
    if (client.waiting.length >= limits.stream_buffer) {
      client.waiting.take(1);
      client.missed++;
    }
    client.waiting.push(record);
  };

  const expireAt = (client: Client, expiresAtMs: number): void => {
    const leftMs = expiresAtMs - clock.wallMs();
    if (leftMs <= 0) {
      end(client, closeCodes.unauthenticated, expiredReason);
      return;
    }
    client.deadline = clock.after(Math.min(leftMs, timerMaxMs), () => expireAt(client, expiresAtMs));
  };

  /** A session can end, and a token can be revoked, in another process: its streams end with it. */
  const lookAgain = (client: Client, who: () => Promise<StreamSubject | null>): void => {
    client.recheck = clock.after(sessionCheckMs, () => {
      who()
        .then((subject) => {
          if (client.state !== 'open') return;
          if (subject?.mayRead === true) lookAgain(client, who);
          else end(client, closeCodes.unauthenticated, expiredReason);
        })
        .catch((error: unknown) => {
          if (client.state !== 'open') return;
          // A suspended session may not read; the client connects again.
          if (isSuspended(error)) return end(client, closeCodes.busy, 'try again');
          log.warn('cannot verify the session of a live stream', { error: String(error) });
          lookAgain(client, who);
        });
    });
  };

  /** A client that vanished, such as a tablet out of range, keeps no place. One that has not taken what was sent may just be slow. */
  const beat = (client: Client): void => {
    client.beat = clock.after(limits.stream_ping_ms, () => {
      const isSlow = client.socket.bufferedBytes() > 0;
      if (!client.answered && !isSlow) return end(client, closeCodes.policy, 'no answer to a ping');
      client.answered = isSlow;
      if (!isSlow) client.socket.ping();
      beat(client);
    });
  };

  const authenticate = async (client: Client, token: string | undefined): Promise<void> => {
    client.state = 'checking';
    const { session, isForeign } = client.socket;
    if (token === undefined && isForeign) return end(client, closeCodes.denied, 'not a page of this service');
    const who = async (): Promise<StreamSubject | null> => {
      if (token !== undefined) return parts.authenticate(token);
      return session === null ? null : parts.authenticateSession(session);
    };
    const subject = await who();
    // The client may have disconnected, or its time may have expired, while the token was verified.
    if (client.state !== 'checking') return;
    if (subject === null) return end(client, closeCodes.unauthenticated, 'unauthenticated');
    if (!subject.mayRead) return end(client, closeCodes.denied, 'permission denied');
    // Unauthenticated clients do not count: otherwise they could lock out all others.
    const known = [...clients].filter(({ state }) => state === 'open');
    if (known.length >= limits.stream_clients) return end(client, closeCodes.busy, 'too many clients');
    client.deadline?.cancel();
    client.state = 'open';
    if (subject.expiresAtMs !== null) expireAt(client, subject.expiresAtMs);
    lookAgain(client, who);
    beat(client);
    say(client, { type: 'authenticated' });
  };

  const subscribe = (client: Client, channels: readonly number[]): void => {
    client.channels.clear();
    for (const id of channels) client.channels.add(id);
    watchAgain();
    say(client, { type: 'subscribed', data: { source: 'rule', channels: [...client.channels] } });
  };

  const follow = (client: Client, source: 'point' | 'alarm', channels: readonly string[] | undefined): void => {
    const type = source === 'point' ? 'point_values' : 'alarms';
    const unfollow = parts.feeds[source].follow(channels, (changed) => {
      if (client.state !== 'open' || client.socket.bufferedBytes() >= limits.stream_socket_bytes) return false;
      say(client, { type, data: changed });
      return true;
    });
    client.unfollow[source]();
    client.unfollow[source] = unfollow;
    say(client, { type: 'subscribed', data: { source, ...(channels === undefined ? {} : { channels }) } });
  };

  /**
   * Whether a message or ping is accepted. Each takes time of this thread and is answered, so a client that sends too many, or does not
   * read its answers, is disconnected.
   */
  const hears = (client: Client): boolean => {
    if (client.state === 'closed') return false;
    const nowMs = clock.monotonicMs();
    if (nowMs - client.heard.sinceMs >= secondMs) client.heard = { sinceMs: nowMs, count: 0 };
    client.heard.count++;
    const most = limits.stream_messages_per_second;
    if (client.heard.count > most) end(client, closeCodes.policy, `more than ${most} messages a second`);
    else if (client.socket.bufferedBytes() >= unreadShare * limits.stream_socket_bytes)
      end(client, closeCodes.policy, 'answers are not read');
    else return true;
    return false;
  };

  const refuse = (client: Client, error: unknown): void => {
    if (!(error instanceof Fault)) throw error;
    say(client, { type: 'error', error: { code: error.code, message: error.message } });
  };

  const receive = (client: Client, text: string | null): void => {
    if (!hears(client)) return;
    if (text === null) return end(client, closeCodes.unsupported, 'text messages only');
    let message: StreamMessage;
    try {
      message = decodeStreamMessage(text, limits);
    } catch (error) {
      // Before authentication the client gets no other information.
      if (error instanceof Fault && client.state !== 'open')
        return end(client, closeCodes.unauthenticated, 'unauthenticated');
      return refuse(client, error);
    }
    if (client.state === 'open' && message.type === 'subscribe') {
      const { data } = message;
      if (data.source === 'rule') return subscribe(client, data.channels);
      try {
        return follow(client, data.source, data.channels);
      } catch (error) {
        return refuse(client, error);
      }
    }
    if (client.state !== 'new' || message.type !== 'authenticate')
      return end(client, closeCodes.policy, 'authenticate first, once');
    authenticate(client, message.token).catch((error: unknown) => {
      if (!isSuspended(error)) log.error('cannot check a live stream token', { error: String(error) });
      end(client, closeCodes.busy, 'try again');
    });
  };

  return {
    connect(socket) {
      const client: Client = {
        socket,
        channels: new Set(),
        waiting: new Fifo(),
        unfollow: { point: () => undefined, alarm: () => undefined },
        state: 'new',
        missed: 0,
        heard: { sinceMs: clock.monotonicMs(), count: 0 },
        deadline: undefined,
        retry: undefined,
        recheck: undefined,
        beat: undefined,
        answered: true,
      };
      clients.add(client);
      client.deadline = clock.after(limits.stream_authenticate_ms, () =>
        end(client, closeCodes.unauthenticated, 'unauthenticated'),
      );
      socket.onMessage((text) => receive(client, text));
      socket.onPong(() => (client.answered = true));
      socket.onPing(() => void hears(client));
      socket.onClose(() => drop(client));
    },
    publish(records) {
      for (const client of clients) {
        if (client.channels.size === 0) continue;
        for (const record of records) if (client.channels.has(record.rule_id)) enqueue(client, record);
        if (client.retry === undefined) drain(client);
      }
    },
    renew: watchAgain,
    close() {
      for (const client of clients) end(client, closeCodes.goingAway, 'the service is stopping');
    },
  };
}
