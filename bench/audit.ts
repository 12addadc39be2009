/**
 * The cost of the audit. Verification: events a second of the chain alone (at least 200 000), and with details against
 * JSON.stringify and SHA-256 over the same bytes (at least half). Appends: under concurrent load against one commit per
 * event (at least 10 times). A mutation through the whole pipeline, audited against unaudited.
 */
import { createHash } from 'node:crypto';
import Type from 'typebox';
import type { BoundCapability, Capability, Subject } from '../src/api/capability.ts';
import { gatherEvidence } from '../src/audit/evidence.ts';
import { type AuditLog, createAuditLog } from '../src/audit/log.ts';
import { walkChain } from '../src/audit/store/chain-walk.ts';
import { scanAudit } from '../src/audit/store/scan.ts';
import { verifyScan } from '../src/audit/verify.ts';
import { systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import { siteSchema } from '../src/databases/schemas.ts';
import { gatewayLimits } from '../src/gateway/limits.ts';
import { createRateLimits } from '../src/gateway/rate-limit.ts';
import { createServer } from '../src/gateway/server.ts';
import {
  appendTogether,
  type BenchLog,
  benchEntry,
  benchScope,
  emptyLog,
  fillLog,
  median,
} from './fixture/audit-site.ts';
import { sizes } from './fixture/sizes.ts';

const { events, rounds, appended, single } = sizes(
  { events: 200_000, rounds: 5, appended: 20_000, single: 500 },
  { events: 2000, rounds: 1, appended: 512, single: 20 },
);

/** In processor time: this work never waits, and on a shared machine the wall clock would measure the neighbours. */
async function secondsOf(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1e6;
}

async function secondsOfAsync(work: () => Promise<unknown>): Promise<number> {
  const begunMs = systemClock.monotonicMs();
  await work();
  return (systemClock.monotonicMs() - begunMs) / 1000;
}

const perSecond = (count: number, seconds: number): string => `${Math.round(count / seconds).toLocaleString('en')}/s`;

async function verification(): Promise<void> {
  const log = emptyLog();
  await fillLog(log, events);
  const evidence = gatherEvidence({ keys: [], anchor: null, checkpoints: null, ownKey: null });
  const whole = async (withDetails: boolean): Promise<void> => {
    const scan = await scanAudit(log.file, siteSchema);
    const { chains } = await verifyScan(scan, evidence, { withDetails });
    await scan.close();
    if (chains[0]?.broken !== null || chains[0].events !== events) throw new Error('the log does not verify');
  };
  const scan = await scanAudit(log.file, siteSchema);
  const records = (await Array.fromAsync(scan.events(1, true))).flat();
  const [owner] = scan.chains.map((chain) => chain.owner);
  if (owner === undefined) throw new Error('there is no chain');
  await scan.close();
  const bare = records.map((record) => ({ ...record, details: undefined }));
  const inMemory = (): void => {
    const walk = walkChain({ owner, anchors: [], mark: null });
    for (const record of bare) walk.add(record);
    if (walk.finish(undefined).broken !== null) throw new Error('the log does not verify');
  };
  const values = records.map(({ event, details }) => ({ event, details: JSON.parse(details ?? 'null') as unknown }));
  let sink = 0;
  const peer = (): void => {
    for (const { event, details } of values)
      for (const value of [event, details])
        sink += createHash('sha256').update(JSON.stringify(value)).digest('hex').length;
  };
  const took = { memory: [] as number[], chain: [] as number[], details: [] as number[], peer: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    took.memory.push(await secondsOf(inMemory));
    took.chain.push(await secondsOf(() => whole(false)));
    took.details.push(await secondsOf(() => whole(true)));
    took.peer.push(await secondsOf(peer));
  }
  if (sink === 0) throw new Error('nothing was hashed');
  console.log(`verify ${events} events, by processor time:`);
  console.log(`  the chain alone, records in memory ${perSecond(events, median(took.memory))}`);
  console.log(`  the chain alone, out of the database ${perSecond(events, median(took.chain))} (limit 200,000/s)`);
  console.log(`  with details, out of the database ${perSecond(events, median(took.details))}`);
  const again = await scanAudit(log.file, siteSchema);
  const integrity = await secondsOfAsync(() => again.damage());
  await again.close();
  console.log(`  beside it, in a thread of its own: the database's integrity in ${(integrity * 1000).toFixed(0)} ms`);
  const ratio = median(took.peer) / median(took.details);
  console.log(
    `  with details against JSON.stringify + SHA-256 in memory: ${ratio.toFixed(2)} of its speed (limit 0.5)`,
  );
  await log.close();
}

async function appends(): Promise<void> {
  const log = emptyLog();
  const audit = createAuditLog({ ...log, clock: systemClock, scope: benchScope });
  const inFlight = 256;
  const grouped: number[] = [];
  const alone: number[] = [];
  for (let round = 0; round < rounds; round++) {
    grouped.push((await secondsOfAsync(() => appendTogether([audit], inFlight, appended))) / appended);
    const one = async (): Promise<void> => {
      for (let index = 0; index < single; index++)
        await log.database.transaction((transaction) => audit.appendIn(transaction, benchEntry(index)));
    };
    alone.push((await secondsOfAsync(one)) / single);
  }
  console.log(`append, durable (${inFlight} at once):`);
  console.log(`  together ${perSecond(1, median(grouped))}, one commit per event ${perSecond(1, median(alone))}`);
  console.log(`  ratio ${(median(alone) / median(grouped)).toFixed(1)} (limit 10)`);
  await log.close();
}

const subject: Subject = {
  kind: 'user',
  subjectId: 'ada',
  ...benchScope,
  roles: ['Engineer'],
  permissions: new Set(['automation.rule.manage']),
};

function mutation(log: BenchLog, audit: 'required' | 'not-required'): BoundCapability {
  const none = Type.Object({});
  const descriptor: Capability = {
    name: 'automation.rule.create',
    summary: 'one durable change',
    method: 'POST',
    path: `/${audit}`,
    kind: 'command',
    risk: 'medium',
    permission: 'automation.rule.manage',
    confirmation: 'always',
    confirmedIn: 'body',
    audit,
    idempotent: false,
    params: none,
    query: none,
    body: Type.Object({ name: Type.String(), confirmed: Type.Literal(true) }),
    answer: none,
  };
  const now = new Date(systemClock.wallMs()).toISOString();
  const row = {
    enabled: 0,
    priority: 0,
    cooldown_ms: 0,
    nodes_json: '{}',
    revision: 1,
    created_at: now,
    updated_at: now,
  };
  return {
    descriptor,
    resource: () => ({ kind: 'automation-rule', id: 'automation-rule:new' }),
    async handler() {
      await log.database.query
        .insertInto('rules')
        .values({ name: 'rule', ...row })
        .execute();
      return { data: {} };
    },
  };
}

function mutationServer(log: BenchLog, audit: AuditLog) {
  return createServer({
    capabilities: [mutation(log, 'required'), mutation(log, 'not-required')],
    identity: {
      authenticate: () => Promise.resolve(subject),
      authenticateSession: async () => null,
      authenticateToken: () => Promise.resolve({ subject, expiresMs: Number.POSITIVE_INFINITY }),
    },
    audit,
    site: benchScope,
    rateLimits: createRateLimits({ ...gatewayLimits, mutations_per_minute: 1_000_000 }),
    log: silentLog,
    limits: gatewayLimits,
    clock: systemClock,
  });
}

async function mutations(): Promise<void> {
  const log = emptyLog();
  const server = mutationServer(log, createAuditLog({ ...log, clock: systemClock, scope: benchScope }));
  const { host, port } = await server.listen('127.0.0.1', 0);
  const call = async (path: string): Promise<void> => {
    const answer = await fetch(`http://${host}:${port}${path}`, {
      method: 'POST',
      headers: { 'x-svc-confirmed': 'true', 'content-type': 'application/json', authorization: 'Bearer x' },
      body: '{"name":"rule","confirmed":true}',
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(text);
  };
  console.log('a mutation with one durable change of its own, through the whole pipeline:');
  for (const inFlight of [1, 64]) {
    const took = { '/required': [] as number[], '/not-required': [] as number[] };
    for (let round = 0; round < rounds; round++)
      for (const path of ['/required', '/not-required'] as const) {
        const count = inFlight * 20;
        let next = 0;
        const worker = async (): Promise<void> => {
          while (next++ < count) await call(path);
        };
        took[path].push((await secondsOfAsync(() => Promise.all(Array.from({ length: inFlight }, worker)))) / count);
      }
    const audited = median(took['/required']) * 1000;
    const unaudited = median(took['/not-required']) * 1000;
    const each = `${audited.toFixed(2)} ms audited, ${unaudited.toFixed(2)} ms unaudited`;
    console.log(`  ${inFlight} at once: ${each}: ${(audited / unaudited).toFixed(2)} times`);
  }
  await server.close();
  await log.close();
}

await verification();
await appends();
await mutations();
