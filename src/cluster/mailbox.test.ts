/** A message between the processes of one site reaches its addressee, and a broadcast reaches all (docs/guides/several-machines.md). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { answersOnly, connectPostgres, type PostgresPlace, shareLock } from '../storage/postgres.ts';
import { runOn, testSchema } from '../testing/engines.ts';
import { ClockWatch } from './clock-watch.ts';
import { openMailbox } from './mailbox.ts';
import { StandbyWatch } from './standby-watch.ts';

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

const open = (name: string, processName = 'setpoint') => {
  // A connection that is not used for half a second counts as gone.
  const standbys = new StandbyWatch(systemClock, place.limits.postgres_schema, { lookMs: 0, unusedMs: 500 });
  const limits = { pollMs: 100, maxAgeMs: 5000, answerMs: 1000 };
  const common = { clock: systemClock, log: silentLog, clocks: new ClockWatch(systemClock, silentLog, 1000) };
  const mailbox = openMailbox(place, { ...common, name, processName, standbys, limits });
  const [mail, news]: [unknown[], string[]] = [[], []];
  mailbox.onMail(({ sender, message }) => void mail.push([sender, message]));
  mailbox.onNews((what) => void news.push(what));
  closers.push(() => mailbox.close());
  return { mailbox, mail, news, standbys };
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
  const standbys = { look: async () => undefined, lost: () => undefined };
  const log = { ...silentLog, warn };
  const clocks = new ClockWatch(clock, log, 1000);
  const mailbox = openMailbox(place, { name: 'a', processName: 'setpoint', clock, log, clocks, standbys });
  closers.push(() => mailbox.close());
  await expect.poll(() => lines).toHaveLength(1);
  const [[message, { ahead_ms: aheadMs }]] = lines as [[string, { readonly ahead_ms: number }]];
  expect(message).toContain('differs from the clock of the database server');
  expect(Math.abs(aheadMs - 600_000)).toBeLessThan(5000);
});

test('[alarms §2.2] a standby is missing once one was connected and none is; a process that only answers requests does not count', async () => {
  const { standbys, mail } = open('a');
  expect(standbys.isMissing()).toBe(null);
  await expect.poll(() => standbys.isMissing()).toBe(false);
  const [b, c] = [open('b'), open('c', `setpoint - - - ${answersOnly}`)];
  await expect.poll(() => [b, c].map((each) => each.standbys.isMissing())).toEqual([false, false]);
  // Mail is read after a look: with the second one, `a` has looked since `b` is there.
  for (const count of [1, 2]) {
    await b.mailbox.send('a', count);
    await expect.poll(() => mail.length).toBe(count);
  }
  expect(standbys.isMissing()).toBe(false);
  await b.mailbox.close();
  await expect.poll(() => standbys.isMissing()).toBe(true);
  open('d');
  await expect.poll(() => standbys.isMissing()).toBe(false);
});

test('[alarms §2.2] a connection left behind by a failed machine does not count as a standby', async () => {
  const { standbys } = open('a');
  const server = connectPostgres(place, 'engine');
  closers.push(() => server.close());
  const connection = await server.connect();
  await connection.run(`SELECT set_config('application_name', 'setpoint', false)`);
  await connection.run(shareLock(place.limits.postgres_schema, 'process'));
  const used = setInterval(() => void connection.run('SELECT 1'), 100);
  closers.push(() => clearInterval(used));
  const seen: (boolean | null)[] = [];
  await expect.poll(() => seen.push(standbys.isMissing()) > 20 && seen.at(-1)).toBe(false);
  clearInterval(used);
  await expect.poll(() => standbys.isMissing()).toBe(true);
  connection.release(true);
});
