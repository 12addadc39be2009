/**
 * Messages between the processes of one site, through their database, without a separate bus. A message is a row; a notification alerts
 * its recipient, and a poll finds messages whose notification was lost. Unread messages expire. Broadcasts go
 * to all and are not stored: a process that depends on them also polls.
 */
import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { connectPostgres, type PostgresConnection, type PostgresPlace, shareLock } from '../storage/postgres.ts';
import type { ClockWatch } from './clock-watch.ts';
import type { StandbyWatch } from './standby-watch.ts';

export interface Mail {
  readonly sender: string;
  readonly message: unknown;
}

/** Messages to all processes of a site: rules or parameters changed; a new leader. */
const news = ['rules', 'parameters', 'engine'] as const;
export type News = (typeof news)[number];

export interface Mailbox {
  /** The name of this process, for answers. */
  readonly name: string;
  /** Resolves when the message is stored; rejects with `storage-unavailable`. */
  send(recipient: string, message: unknown): Promise<void>;
  /** Starts or stops receiving messages to `recipient` as well. */
  alsoFor(recipient: string, takes: boolean): void;
  onMail(listener: (mail: Mail) => void): void;
  /** Notifies every listening process, including this one; rejects as `send` does. */
  announce(what: News): Promise<void>;
  onNews(listener: (what: News) => void): void;
  close(): Promise<void>;
}

export interface MailboxLimits {
  /** Poll interval without notifications. */
  readonly pollMs: number;
  /** Unread messages expire after this time: their sender has given up. */
  readonly maxAgeMs: number;
  /** A connection without an answer for this time is closed. */
  readonly answerMs: number;
}

const defaults: MailboxLimits = { pollMs: 1000, maxAgeMs: 5000, answerMs: 1000 };
const retryMs = 250;
/** Prefix of broadcasts, in place of a recipient: no process has this name. */
const newsPrefix = 'news:';

export function openMailbox(
  place: PostgresPlace,
  parts: {
    readonly name: string;
    /** The name of the connection on the server. */
    readonly processName: string;
    readonly clock: Clock;
    readonly log: Log;
    /** Both ask on the connection that listens. */
    readonly clocks: Pick<ClockWatch, 'look'>;
    readonly standbys: Pick<StandbyWatch, 'look' | 'lost'>;
    readonly limits?: MailboxLimits;
  },
): Mailbox {
  const { name, processName, clock, log, clocks, standbys, limits = defaults } = parts;
  const channel = `${place.limits.postgres_schema}_mail`;
  const connectTo = (connections_max: number) =>
    connectPostgres(
      { ...place, limits: { ...place.limits, connections_max, statement_timeout_ms: limits.answerMs } },
      'engine',
    );
  const sending = connectTo(2);
  const receiving = connectTo(1);
  const listeners: ((mail: Mail) => void)[] = [];
  const newsListeners: ((what: News) => void)[] = [];
  const recipients = new Set([name]);
  const closing = new AbortController();
  let ring: () => void = () => undefined;

  const fetch = async ({ run }: PostgresConnection): Promise<void> => {
    const names = [...recipients];
    const rows = await run(
      `DELETE FROM mail WHERE recipient IN (${names.map((_, index) => `$${index + 1}`).join()})
        RETURNING id, sender, message, extract(epoch FROM clock_timestamp() - sent_at)::float8 * 1000 AS age_ms`,
      names,
    );
    for (const row of rows.toSorted((a, b) => Number(a['id']) - Number(b['id']))) {
      if (Number(row['age_ms']) > limits.maxAgeMs) continue;
      const mail = { sender: String(row['sender']), message: JSON.parse(String(row['message'])) as unknown };
      for (const listener of listeners) listener(mail);
    }
  };

  /** Until the connection is lost. */
  const receive = async (connection: PostgresConnection): Promise<void> => {
    const lost = new AbortController();
    connection.onNotification((payload) => {
      if (payload === null) lost.abort();
      if (payload === null || recipients.has(payload)) ring();
      const told = news.find((what) => payload === `${newsPrefix}${what}`);
      if (told !== undefined) for (const listener of newsListeners) listener(told);
    });
    await connection.run(`SELECT set_config('application_name', $1, false)`, [processName]);
    // While a process of the site is connected, no newer version upgrades the tables.
    await connection.run(shareLock(place.limits.postgres_schema, 'process'));
    await connection.run(`LISTEN ${channel}`);
    while (!lost.signal.aborted && !closing.signal.aborted) {
      const rung = new AbortController();
      ring = () => rung.abort();
      closing.signal.addEventListener('abort', ring, { once: true });
      await clocks.look(connection);
      await standbys.look(connection);
      await fetch(connection);
      await sleep(clock, limits.pollMs, rung.signal).catch(() => undefined);
      closing.signal.removeEventListener('abort', ring);
    }
  };
  const running = (async () => {
    let told = false;
    while (!closing.signal.aborted) {
      let connection: PostgresConnection | undefined;
      try {
        connection = await receiving.connect();
        await connection.run(`DELETE FROM mail WHERE sent_at < clock_timestamp() - interval '1 minute'`);
        told = false;
        await receive(connection);
      } catch (error) {
        if (!told) log.warn('not receiving messages from other processes', { error: String(error) });
        told = true;
      }
      standbys.lost();
      connection?.release(true);
      if (!closing.signal.aborted) await sleep(clock, retryMs, closing.signal).catch(() => undefined);
    }
  })();

  const run = async (text: string, parameters: readonly unknown[]): Promise<void> => {
    const connection = await sending.connect();
    try {
      await connection.run(text, parameters);
    } finally {
      connection.release(false);
    }
  };

  return {
    name,
    send: (recipient, message) =>
      run(`WITH sent AS (INSERT INTO mail (recipient, sender, message) VALUES ($1, $2, $3)) SELECT pg_notify($4, $5)`, [
        recipient,
        name,
        JSON.stringify(message),
        channel,
        recipient,
      ]),
    announce: (what) => run('SELECT pg_notify($1, $2)', [channel, `${newsPrefix}${what}`]),
    alsoFor(recipient, takes) {
      if (takes) recipients.add(recipient);
      else recipients.delete(recipient);
      ring();
    },
    onMail: (listener) => void listeners.push(listener),
    onNews: (listener) => void newsListeners.push(listener),
    async close() {
      closing.abort();
      await running;
      await sending.close();
      await receiving.close();
    },
  };
}
