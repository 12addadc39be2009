/** One process controls at any time; another follows when it stops, is cut off or releases it (docs/guides/several-machines.md). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { sleep, systemClock } from '../base/clock.ts';
import { type Log, silentLog } from '../base/log.ts';
import { connectPostgres, endHolder, lockKey, type PostgresPlace, takeLock } from '../storage/postgres.ts';
import { storageLimits } from '../storage/server-limits.ts';
import { runOn, testSchema } from '../testing/engines.ts';
import { startGate } from '../testing/gate.ts';
import { type EngineLease, holdLease } from './lease.ts';

const quick = { engine_lease_ms: 600, engine_renew_ms: 60, engine_poll_ms: 30 };
const graceMs = 200;

interface Contender {
  readonly lease: EngineLease;
  /** Terms: when control began, when its lease last ended, when it was lost. */
  readonly terms: { epoch: number; fromMs: number; untilMs: number; lostMs: number | null; reason: string }[];
}

function lockHash({ limits }: PostgresPlace): string {
  return `hashtext('${limits.postgres_schema}:engine')::bigint & 4294967295`;
}

/** Database sessions of the standbys. */
function lookingAt({ limits }: PostgresPlace): string {
  const key = lockKey(limits.postgres_schema, 'engine').replaceAll("'", "''");
  return `query LIKE '%${key}%renewed_at%' AND pid <> pg_backend_pid()`;
}

describe('the lease of the engine', () => {
  let place: PostgresPlace;
  const contenders: Contender[] = [];
  const closers: (() => unknown)[] = [];
  beforeEach(async () => {
    place = await testSchema();
    place = { ...place, limits: { ...place.limits, ...quick } };
    const runtime = openRuntimeDatabase(place);
    await runtime.ready();
    await runtime.close();
  });
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
    for (const { lease } of contenders.splice(0)) await lease.release();
    await runOn(place, `DROP SCHEMA IF EXISTS ${place.limits.postgres_schema} CASCADE`);
  });
  const contend = (at = place, log: Log = silentLog): Contender => {
    const terms: Contender['terms'] = [];
    const lease = holdLease({
      place: at,
      clock: systemClock,
      log,
      holder: `contender-${contenders.length}`,
      graceMs,
      onNext: () => undefined,
      onLead: (epoch) =>
        void terms.push({ epoch, fromMs: systemClock.monotonicMs(), untilMs: 0, lostMs: null, reason: '' }),
      onExtend: (untilMs) => {
        const last = terms.at(-1);
        if (last !== undefined && last.lostMs === null) last.untilMs = untilMs;
      },
      onLost: async (reason) => {
        const last = terms.at(-1);
        if (last === undefined) return;
        last.lostMs = systemClock.monotonicMs();
        last.reason = reason;
      },
    });
    const contender = { lease, terms };
    contenders.push(contender);
    return contender;
  };
  const leading = (one: Contender) =>
    expect.poll(() => one.lease.state(), { timeout: 10_000, interval: 10 }).toBe('leading');
  /** A leader behind a gate to its database, and a standby without one. */
  const pairWithGate = async (limits = place.limits) => {
    const { gate, url, close } = await startGate(Number(new URL(place.url).port), place.url);
    closers.push(close);
    const cutOff = contend({ ...place, url, limits });
    await leading(cutOff);
    return { gate, cutOff };
  };
  const standingBy = async (at = place) => {
    const standby = contend(at);
    await sleep(systemClock, 100);
    return standby;
  };
  /** A transaction that holds the lock, as a writing process does. */
  const storing = async (lock: 'runtime' | 'history', more: Partial<PostgresPlace['limits']> = {}) => {
    const server = connectPostgres({ ...place, limits: { ...place.limits, ...more } }, lock);
    const { run, release } = await server.connect();
    closers.push(async () => {
      release(true);
      await server.close();
    });
    await run(`BEGIN; ${takeLock(place.limits.postgres_schema, lock)}`);
    return run;
  };
  /** The session of the holder, not one of another test. */
  const cut = () => runOn(place, endHolder(place.limits.postgres_schema, 'engine'));

  test('the defaults: renewed often enough, and taken over in less than 2 s with the default age of a command', () => {
    const { engine_lease_ms: leaseMs, engine_renew_ms: renewMs, engine_poll_ms: pollMs } = storageLimits;
    expect(renewMs * 4).toBeLessThan(leaseMs);
    expect(leaseMs + pollMs + 1000).toBeLessThan(2000);
  });

  test('of several exactly one leads; after a clean handover the next one follows without a wait', async () => {
    const all = [contend(), contend(), contend()];
    await expect.poll(() => all.filter(({ lease }) => lease.state() === 'leading').length).toBe(1);
    const first = all.find(({ lease }) => lease.state() === 'leading');
    const rest = all.filter((one) => one !== first);
    const releasedMs = systemClock.monotonicMs();
    await first?.lease.release();
    await expect.poll(() => rest.filter(({ lease }) => lease.state() === 'leading').length, { interval: 5 }).toBe(1);
    expect(systemClock.monotonicMs() - releasedMs).toBeLessThan(quick.engine_lease_ms);
    expect(all.flatMap(({ terms }) => terms.map(({ epoch }) => epoch)).toSorted()).toEqual([1, 2]);
  });

  test('a holder whose connection is cut has it again as long as its lease lasts, in the same epoch', async () => {
    const only = contend();
    await leading(only);
    for (let round = 0; round < 3; round++) {
      await cut();
      await sleep(systemClock, quick.engine_renew_ms * 3);
    }
    expect(only.terms).toMatchObject([{ epoch: 1, lostMs: null }]);
  });

  test('when all connections are lost at once, the leader gets its lock back: no other process takes it while the lease lasts', async () => {
    // Long enough for a busy machine to reconnect.
    const engine_lease_ms = 1500;
    const holder = contend({ ...place, limits: { ...place.limits, engine_lease_ms, engine_renew_ms: 250 } });
    await leading(holder);
    const other = contend({ ...place, limits: { ...place.limits, engine_lease_ms } });
    const looking = `FROM pg_stat_activity WHERE ${lookingAt(place)}`;
    for (let round = 0; round < 3; round++) {
      await expect.poll(async () => (await runOn(place, `SELECT pid ${looking}`)).length).toBeGreaterThan(0);
      await runOn(place, `SELECT pg_terminate_backend(pid) ${looking}`);
      await cut();
      await sleep(systemClock, 1.2 * engine_lease_ms);
      expect([holder.lease.state(), other.lease.state()]).toEqual(['leading', 'standby']);
    }
    expect(holder.terms).toMatchObject([{ epoch: 1, lostMs: null }]);
    await holder.lease.release();
    await leading(other);
  });

  test('one whose database is out of reach stops at the end of its lease; the next one begins later than that, plus the grace', async () => {
    const { gate, cutOff } = await pairWithGate();
    const standby = await standingBy();
    gate.shut();
    await leading(standby);
    await expect.poll(() => cutOff.terms[0]?.reason).toMatch(/lease ended/);
    const [last] = cutOff.terms;
    const [next] = standby.terms;
    expect(next?.epoch).toBe(2);
    expect((next?.fromMs ?? 0) - (last?.untilMs ?? 0)).toBeGreaterThanOrEqual(graceMs - 1);
    gate.reopen();
    await sleep(systemClock, 300);
    expect(cutOff.lease.state()).toBe('standby');
  });

  test('a leader with a longer lease than the next one is waited for as long as its own lease lasts', async () => {
    const longMs = 1500;
    const { gate, cutOff } = await pairWithGate({ ...place.limits, engine_lease_ms: longMs });
    const standby = await standingBy();
    gate.shut();
    await leading(standby);
    const [last] = cutOff.terms;
    const [next] = standby.terms;
    expect(next?.epoch).toBe(2);
    expect((next?.fromMs ?? 0) - (last?.untilMs ?? 0)).toBeGreaterThanOrEqual(graceMs - 1);
  });

  test('a server that crashed may have forgotten renewals: whoever lost its connection counts the lease from when it is back', async () => {
    const { gate } = await pairWithGate();
    const standby = await standingBy();
    gate.shut();
    await sleep(systemClock, quick.engine_lease_ms / 2);
    const lostMs = systemClock.monotonicMs();
    await runOn(place, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${lookingAt(place)}`);
    await leading(standby);
    expect((standby.terms[0]?.fromMs ?? 0) - lostMs).toBeGreaterThanOrEqual(quick.engine_lease_ms + graceMs);
  });

  test('a renewal does not wait for the disk; the epoch does', async () => {
    const holder = contend();
    await leading(holder);
    const lastOf = async () =>
      String(
        (
          await runOn(
            place,
            `SELECT query FROM pg_stat_activity WHERE query LIKE 'UPDATE engine_lease%' AND pid IN
              (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid::bigint = ${lockHash(place)})`,
          )
        )[0]?.['query'],
      );
    await expect.poll(lastOf).toContain(`set_config('synchronous_commit', 'off', true)`);
    const connection = connectPostgres(place, 'engine');
    const { run, release } = await connection.connect();
    const [renewed] = await run((await lastOf()).replace('$1', '1'));
    expect(renewed).toMatchObject({ epoch: 1, set_config: 'off' });
    expect(await run('SHOW synchronous_commit')).toEqual([{ synchronous_commit: 'on' }]);
    release(true);
    await connection.close();
  });

  test.for(['runtime', 'history'] as const)(
    'a holder that stopped in the middle of storing in %s keeps nobody waiting for it',
    async (lock) => {
      const { gate } = await pairWithGate();
      const run = await storing(lock, { idle_transaction_timeout_ms: 60_000 });
      await run('SELECT epoch FROM engine_lease FOR SHARE');
      const standby = await standingBy();
      const shutMs = systemClock.monotonicMs();
      gate.shut();
      await leading(standby);
      const leaseMs = place.limits.engine_lease_ms;
      expect((standby.terms[0]?.fromMs ?? 0) - shutMs).toBeLessThan(leaseMs + graceMs + 1000);
    },
  );

  test('an import of history that is under way continues when control moves', async () => {
    const { gate } = await pairWithGate();
    const run = await storing('history');
    const standby = await standingBy();
    gate.shut();
    await leading(standby);
    await run('COMMIT');
  });

  test('a database that refuses every change, as one made read-only does, is logged once, and once more after it recovered', async () => {
    const { postgres_schema: schema } = place.limits;
    const warnings: unknown[] = [];
    const one = contend(place, {
      ...silentLog,
      warn: (message, details) => void warnings.push([message, details?.['reason']]),
    });
    await leading(one);
    const refusal = 'cannot execute UPDATE in a read-only transaction';
    await runOn(
      place,
      `CREATE FUNCTION ${schema}.refused() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '${refusal}'; END $$`,
    );
    const refused = [['lease database not responding', refusal]];
    const logged = () => warnings.filter((warning) => String(warning).includes(refusal));
    for (const round of [1, 2]) {
      await runOn(
        place,
        `CREATE TRIGGER refused BEFORE UPDATE ON ${schema}.engine_lease EXECUTE FUNCTION ${schema}.refused()`,
      );
      await expect.poll(() => one.lease.state()).toBe('standby');
      await sleep(systemClock, 10 * quick.engine_poll_ms);
      expect(logged()).toEqual(Array(round).fill(refused[0]));
      await runOn(place, `DROP TRIGGER refused ON ${schema}.engine_lease`);
      await leading(one);
    }
  });

  test('a jump of the database clock shortens no wait', async () => {
    const { gate, cutOff } = await pairWithGate();
    const standby = await standingBy();
    gate.shut();
    await runOn(
      place,
      `UPDATE ${place.limits.postgres_schema}.engine_lease SET renewed_at = renewed_at - interval '1 hour'`,
    );
    await leading(standby);
    const [last] = cutOff.terms;
    expect((standby.terms[0]?.fromMs ?? 0) - (last?.untilMs ?? 0)).toBeGreaterThanOrEqual(graceMs - 1);
  });

  test('writes with an older epoch do not change the states', async () => {
    const { createRunReader, createRunStore } = await import('../automation/store/run-store.ts');
    const first = contend();
    await leading(first);
    const old = openRuntimeDatabase({ ...place, epoch: 1 });
    await createRunStore(old).append({
      rows: [],
      states: [{ rule_id: 1, state: 'mine' }],
      gone: [],
      claims: [],
      segments: [],
    });
    await first.lease.release();
    const second = contend();
    await leading(second);
    const current = openRuntimeDatabase({ ...place, epoch: 2 });
    const row = {
      execution_id: 'execution-1',
      rule_id: 1,
      unchanged: false,
      record: '1',
    };
    await createRunStore(old).append({
      rows: [row],
      states: [{ rule_id: 1, state: 'late' }],
      gone: [1],
      claims: [],
      segments: [],
    });
    expect(await createRunStore(current).states()).toEqual([{ rule_id: 1, state: 'mine' }]);
    expect(await createRunReader(current).page(1, undefined, 9)).toEqual(['1']);
    await createRunStore(current).append({
      rows: [],
      states: [{ rule_id: 1, state: 'new' }],
      gone: [],
      claims: [],
      segments: [],
    });
    expect(await createRunStore(current).states()).toEqual([{ rule_id: 1, state: 'new' }]);
    await old.close();
    await current.close();
  });
});
