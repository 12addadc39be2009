/** A message between the processes of one site reaches its addressee, and a broadcast reaches all (docs/guides/several-machines.md). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import type { PostgresPlace } from '../storage/postgres.ts';
import { runOn, testSchema } from '../testing/engines.ts';
import { openMailbox } from './mailbox.ts';

let place: PostgresPlace;
let closers: (() => unknown)[] = [];
beforeEach(async () => {
  place = await testSchema();
  const database = openRuntimeDatabase(place);
  await database.ready();
  await database.close();
  closers = [];
});
afterEach(async () => {
  for (const close of closers) await close();
  await runOn(place, `DROP SCHEMA IF EXISTS ${place.limits.postgres_schema} CASCADE`);
});

const open = (name: string) => {
  const mailbox = openMailbox(place, { name, processName: 'setpoint', clock: systemClock, log: silentLog });
  const [mail, news]: [unknown[], string[]] = [[], []];
  mailbox.onMail(({ sender, message }) => void mail.push([sender, message]));
  mailbox.onNews((what) => void news.push(what));
  closers.push(() => mailbox.close());
  return { mailbox, mail, news };
};
const notify = (payload: string) =>
  runOn(place, `SELECT pg_notify('${place.limits.postgres_schema}_mail', '${payload}')`);
/** All of them are listening: each has received something. */
const listening = async (all: readonly { readonly news: string[] }[]): Promise<void> => {
  await expect
    .poll(async () => {
      await notify('news:rules');
      return all.every(({ news }) => news.length > 0);
    })
    .toBe(true);
};

test('a message is for one process, also by the name that it takes for a while; who is not there gets it later', async () => {
  const [a, b] = [open('a'), open('b')];
  await a.mailbox.send('b', { number: 1 });
  await expect.poll(() => b.mail).toEqual([['a', { number: 1 }]]);
  await b.mailbox.send('engine', 'first');
  a.mailbox.alsoFor('engine', true);
  await expect.poll(() => a.mail).toEqual([['b', 'first']]);
  a.mailbox.alsoFor('engine', false);
  b.mailbox.alsoFor('engine', true);
  await a.mailbox.send('engine', 'second');
  await expect.poll(() => b.mail).toHaveLength(2);
  expect(a.mail).toHaveLength(1);
});

test('broadcasts reach all listeners, including the sender; unknown ones reach nobody', async () => {
  const all = [open('a'), open('b'), open('c')];
  await listening(all);
  for (const { news } of all) news.length = 0;
  await notify('news:of another version');
  await all[1]?.mailbox.announce('engine');
  await all[2]?.mailbox.announce('parameters');
  for (const { news } of all) await expect.poll(() => news.slice(-2)).toEqual(['engine', 'parameters']);
  expect(all.flatMap(({ news }) => news).filter((what) => what.includes('version'))).toEqual([]);
  expect(all.flatMap(({ mail }) => mail)).toEqual([]);
});

test('warns of a clock that is ten minutes ahead of the server', async () => {
  const lines: unknown[] = [];
  const warn = (message: string, fields?: object): void => void lines.push([message, fields]);
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + 600_000 };
  const mailbox = openMailbox(place, { name: 'a', processName: 'setpoint', clock, log: { ...silentLog, warn } });
  closers.push(() => mailbox.close());
  await expect.poll(() => lines).toHaveLength(1);
  const [[message, { ahead_ms: aheadMs }]] = lines as [[string, { readonly ahead_ms: number }]];
  expect(message).toContain('differs from the clock of the database server');
  expect(Math.abs(aheadMs - 600_000)).toBeLessThan(5000);
});
