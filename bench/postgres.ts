/**
 * PostgreSQL beside SQLite, in one run, with one site in both: an audit page of 50 for each filter, audit appends by 64 writers,
 * and what one more process over the same database costs (docs/guides/several-machines.md). The server is the one of the tests,
 * from npm, but with its commits on disk, as SQLite's are. `npm run bench postgres`.
 */
import { dirname } from 'node:path';
import { createAuditLog } from '../src/audit/log.ts';
import { createAuditSearch } from '../src/audit/search.ts';
import { openRuntimeDatabase } from '../src/automation/store/runtime-database.ts';
import { sleep, systemClock } from '../src/base/clock.ts';
import { databaseFile } from '../src/databases/data-files.ts';
import { openDatabase } from '../src/databases/site-database.ts';
import { moveToPostgres } from '../src/databases/to-postgres.ts';
import type { Database, DatabasePlace } from '../src/storage/database.ts';
import { connectPostgres, type PostgresPlace } from '../src/storage/postgres.ts';
import { storageLimits } from '../src/storage/server-limits.ts';
import { makePostgres } from '../src/testing/postgres-server.ts';
import { editorFlow } from '../tests/e2e/running-service.ts';
import { auditPages, noCriteria, seldomMatches } from './fixture/audit-pages.ts';
import {
  appendTogether,
  type BenchLog,
  benchEntry,
  benchScope,
  emptyLog,
  fillLog,
  median,
} from './fixture/audit-site.ts';
import { databaseProcessorMs, processorMs, type Replica, startReplica } from './fixture/replicas.ts';
import { sizes } from './fixture/sizes.ts';

const { events, pageRounds, appended, appendRounds, idleMs, settleMs, changesMade, readMs, readRounds, rules } = sizes(
  {
    events: 1_000_000,
    pageRounds: 100,
    appended: 10_000,
    appendRounds: 5,
    idleMs: 20_000,
    settleMs: 5000,
    changesMade: 100,
    readMs: 5000,
    readRounds: 3,
    rules: 20,
  },
  {
    events: 5000,
    pageRounds: 2,
    appended: 256,
    appendRounds: 1,
    idleMs: 500,
    settleMs: 500,
    changesMade: 3,
    readMs: 300,
    readRounds: 1,
    rules: 2,
  },
);
const writers = 64;
const readers = 32;

const quickest = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 10)] ?? Number.NaN;
const secondsSince = (begunMs: number): number => (systemClock.monotonicMs() - begunMs) / 1000;
const placeIn = (url: string, postgres_schema: string): PostgresPlace => ({
  url,
  limits: { ...storageLimits, postgres_schema },
});

async function pages(sqlite: BenchLog, place: PostgresPlace): Promise<void> {
  const begunMs = systemClock.monotonicMs();
  await openRuntimeDatabase(databaseFile(dirname(sqlite.file), 'runtime')).close();
  await moveToPostgres(dirname(sqlite.file), place, () => undefined);
  await run(place, 'ANALYZE');
  console.log(
    `${events.toLocaleString('en')} audit events moved to PostgreSQL in ${secondsSince(begunMs).toFixed(0)} s`,
  );
  const postgres = openDatabase(place);
  const searches = [sqlite.database, postgres].map((database) =>
    createAuditSearch({ database, clock: systemClock, scanWindow: 5000 }),
  );
  console.log('a page of 50, median (and the quickest tenth, which the neighbours on the machine disturb less):');
  for (const { name, of } of auditPages) {
    const took = searches.map(() => [] as number[]);
    for (let round = 0; round < pageRounds; round++)
      for (const [index, search] of searches.entries()) {
        const startMs = systemClock.monotonicMs();
        const page = await search.page(benchScope, { ...noCriteria, ...of(events) });
        took[index]?.push(systemClock.monotonicMs() - startMs);
        if (page.items.length !== 50) throw new Error(`${name}: ${page.items.length} items`);
      }
    const [own = [], theirs = []] = took;
    const ratioOf = (of: (values: readonly number[]) => number): string => (of(theirs) / of(own)).toFixed(1);
    const times = (of: (values: readonly number[]) => number): string =>
      `${of(own).toFixed(2)} ms, ${of(theirs).toFixed(2)} ms`;
    console.log(
      `  ${name.padEnd(22)} SQLite, PostgreSQL ${times(median)} (${times(quickest)}): ${ratioOf(median)} times (${ratioOf(quickest)})`,
    );
  }
  await postgres.close();
}

async function run(place: PostgresPlace, statement: string): Promise<void> {
  const server = connectPostgres(place, 'site');
  const connection = await server.connect();
  await connection.run('SET statement_timeout TO 0');
  await connection.run(statement);
  connection.release(true);
  await server.close();
}

async function appends(places: Readonly<Record<string, readonly DatabasePlace[]>>): Promise<void> {
  const open: { name: string; databases: Database[]; perSecond: number[] }[] = [];
  for (const [name, of] of Object.entries(places)) {
    const databases = of.map((place) => openDatabase(place));
    for (const database of databases) await database.ready();
    open.push({ name, databases, perSecond: [] });
  }
  for (let round = 0; round < appendRounds; round++)
    for (const { databases, perSecond } of open) {
      const logs = databases.map((database) => createAuditLog({ database, clock: systemClock, scope: benchScope }));
      const begunMs = systemClock.monotonicMs();
      await appendTogether(logs, writers, appended);
      perSecond.push(appended / secondsSince(begunMs));
    }
  console.log(`appends, ${writers} writers at once, each waiting for its event to be on disk:`);
  const base = open[0]?.perSecond ?? [];
  for (const { name, perSecond } of open) {
    const share = (median(perSecond) / median(base)).toFixed(2);
    console.log(
      `  ${name.padEnd(28)} ${Math.round(median(perSecond)).toLocaleString('en').padStart(7)}/s: ${share} of SQLite`,
    );
  }
  for (const { databases } of open) for (const database of databases) await database.close();
}

interface Cost {
  readonly statements: number;
  readonly notifications: number;
  readonly kilobytes: number;
  /** Shares of one core. */
  readonly processor: number;
}

/** The statements of each idle process in a second, and of the database for all of them. */
async function idle(
  replicas: readonly Replica[],
  url: string,
): Promise<{ readonly each: Cost[]; readonly database: number }> {
  const pids = replicas.map(({ service }) => service.process.pid ?? 0);
  const [before, databaseBefore] = [replicas.map(({ wire }) => ({ ...wire.count })), await databaseProcessorMs(url)];
  const processorBefore = pids.map(processorMs);
  const begunMs = systemClock.monotonicMs();
  await sleep(systemClock, idleMs);
  const seconds = secondsSince(begunMs);
  const each = replicas.map(({ wire: { count } }, index) => ({
    statements: (count.statements - (before[index]?.statements ?? 0)) / seconds,
    notifications: (count.notifications - (before[index]?.notifications ?? 0)) / seconds,
    kilobytes: (count.bytes - (before[index]?.bytes ?? 0)) / 1000 / seconds,
    processor: (processorMs(pids[index] ?? 0) - (processorBefore[index] ?? 0)) / 1000 / seconds,
  }));
  let databaseMs = 0;
  // A server process that is new since then has done all of its work since then.
  for (const [pid, ms] of await databaseProcessorMs(url)) databaseMs += ms - (databaseBefore.get(pid) ?? 0);
  return { each, database: databaseMs / 1000 / seconds };
}

/** The cost of one change to the process that is asked for it and to the others, beside their idle traffic. */
async function changes(
  replicas: readonly Replica[],
  asked: Replica,
  id: number,
  idling: readonly Cost[],
): Promise<string> {
  const before = replicas.map(({ wire }) => ({ ...wire.count }));
  const begunMs = systemClock.monotonicMs();
  const took: number[] = [];
  for (let count = 0; count < changesMade; count++) {
    const startMs = systemClock.monotonicMs();
    const reply = await asked.service.command('PUT', `/rules/${id}`, { priority: count });
    if (reply.status !== 200) throw new Error(reply.text);
    took.push(systemClock.monotonicMs() - startMs);
  }
  const seconds = secondsSince(begunMs);
  const each = replicas.map(({ wire: { count } }, index) => {
    const [statements, notifications] = (['statements', 'notifications'] as const).map(
      (name) => (count[name] - (before[index]?.[name] ?? 0) - (idling[index]?.[name] ?? 0) * seconds) / changesMade,
    );
    return `${statements?.toFixed(1)} statements and ${notifications?.toFixed(1)} notifications`;
  });
  return `${median(took).toFixed(1)} ms; ${each.join(', the other process ')}`;
}

/** Reads of one rule by `readers` clients, spread over the replicas. */
async function reads(
  replicas: readonly Replica[],
  id: number,
): Promise<{ readonly perSecond: number; readonly ms: number }> {
  const token = await replicas[0]?.service.token('Viewer');
  const took: number[] = [];
  const begunMs = systemClock.monotonicMs();
  const reader = async (_: unknown, index: number): Promise<void> => {
    const { base } = replicas[index % replicas.length]?.service ?? { base: '' };
    while (systemClock.monotonicMs() - begunMs < readMs) {
      const startMs = systemClock.monotonicMs();
      const answer = await fetch(`${base}/api/v1/automation/api/rules/${id}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(text);
      took.push(systemClock.monotonicMs() - startMs);
    }
  };
  await Promise.all(Array.from({ length: readers }, reader));
  return { perSecond: took.length / secondsSince(begunMs), ms: median(took) };
}

async function madeRules({ service }: Replica): Promise<number> {
  let id = 0;
  for (let count = 0; count < rules; count++) {
    id = Number((await service.command('POST', '/rules', { name: `rule ${count}` })).body['data']?.['id']);
    const fields = { flow_json: editorFlow('x > 10'), trigger_config: { type: 'interval', interval_ms: 1000 } };
    for (const reply of [
      await service.command('PUT', `/rules/${id}`, fields),
      await service.command('POST', `/rules/${id}/enable`),
    ])
      if (reply.status !== 200) throw new Error(reply.text);
  }
  return id;
}

function tell(name: string, { statements, notifications, kilobytes, processor }: Cost): void {
  const traffic = `${statements.toFixed(1).padStart(5)} statements/s, ${notifications.toFixed(2)} notifications/s, ${kilobytes.toFixed(1)} kB/s`;
  console.log(`  ${name.padEnd(28)} ${traffic}, ${(processor * 100).toFixed(1)} % of a core`);
}

async function oneMore(url: string): Promise<void> {
  const first = await startReplica(url, null);
  const replicas = [first];
  const id = await madeRules(first);
  await sleep(systemClock, settleMs);
  const alone = await idle(replicas, url);
  const changedAlone = await changes(replicas, first, id, alone.each);
  const other = await startReplica(url, first);
  replicas.push(other);
  await sleep(systemClock, settleMs);
  const both = await idle(replicas, url);
  const changed = await changes(replicas, first, id, both.each);
  const turned = [other, first];
  const asked = await changes(turned, other, id, both.each.toReversed());
  console.log(`a site of ${rules} rules that run once a second, nobody asks for anything:`);
  for (const cost of alone.each) tell('the only process', cost);
  for (const [index, cost] of both.each.entries())
    tell(index === 0 ? 'with another one beside it' : 'the other one', cost);
  const share = (of: number): string => `${(of * 100).toFixed(1)} %`;
  console.log(
    `  the database server          ${share(alone.database)} of a core, with one more process ${share(both.database)}`,
  );
  console.log('a change of a rule:');
  console.log(`  one process                   ${changedAlone}`);
  console.log(`  two, the one in control asked ${changed}`);
  console.log(`  two, the other one asked      ${asked}`);

  const took = { one: [] as number[], two: [] as number[], oneMs: [] as number[], twoMs: [] as number[] };
  for (let round = 0; round < readRounds; round++) {
    const [one, two] = [await reads(replicas.slice(0, 1), id), await reads(replicas, id)];
    took.one.push(one.perSecond);
    took.two.push(two.perSecond);
    took.oneMs.push(one.ms);
    took.twoMs.push(two.ms);
  }
  console.log(`reads of a rule, ${readers} clients on the same machine:`);
  console.log(`  one process  ${Math.round(median(took.one))}/s, ${median(took.oneMs).toFixed(1)} ms each`);
  const ratio = (median(took.two) / median(took.one)).toFixed(2);
  console.log(
    `  two          ${Math.round(median(took.two))}/s, ${median(took.twoMs).toFixed(1)} ms each: ${ratio} times`,
  );
  for (const replica of replicas.toReversed()) await replica.close();
}

/** A server of its own, so that neither has to vacuum the other's tables. */
async function withServer(work: (url: string) => Promise<void>): Promise<void> {
  const postgres = await makePostgres('durable');
  try {
    await postgres.start();
    await work(postgres.url);
  } finally {
    await postgres.stop();
  }
}

await withServer(async (url) => {
  const [large, small] = [emptyLog(), emptyLog()];
  await fillLog(large, events, (index) => benchEntry(index, events / seldomMatches));
  await pages(large, placeIn(url, 'large'));
  await appends({
    SQLite: [small.file],
    PostgreSQL: [placeIn(url, 'alone')],
    'PostgreSQL, two logs at once': [placeIn(url, 'shared'), placeIn(url, 'shared')],
  });
  for (const log of [large, small]) await log.close();
});
await withServer(oneMore);
