/** A site moved from files to PostgreSQL is the same site: rules, ids, audit chain, records, state, measurements (docs/guides/several-machines.md). */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gatherEvidence } from '../audit/evidence.ts';
import { createAuditLog } from '../audit/log.ts';
import { scanAudit } from '../audit/store/scan.ts';
import { verifyScan } from '../audit/verify.ts';
import { createRuleStore } from '../automation/store/rule-store.ts';
import { createRunReader, createRunStore } from '../automation/store/run-store.ts';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import type { Historian, HistoryRow } from '../historian/historian.ts';
import { historyLimits } from '../historian/limits.ts';
import { openHistorian } from '../historian/open-historian.ts';
import { prepareHistory } from '../historian/store/history-server.ts';
import { partitionMs } from '../historian/store/partitions.ts';
import { openForecastDatabase } from '../processing/results/forecast-database.ts';
import { ResultStore } from '../processing/results/result-store.ts';
import { quality } from '../site/quality.ts';
import type { DatabasePlace } from '../storage/database.ts';
import type { PostgresPlace } from '../storage/postgres.ts';
import { auditEntry, fillTrail, type TestTrail, testScope, testTrail } from '../testing/audit-trail.ts';
import { runOn, testSchema } from '../testing/engines.ts';
import { startGate } from '../testing/gate.ts';
import { exportedRows } from '../testing/histories.ts';
import { testAct } from '../testing/tank-site.ts';
import { siteSchema } from './schemas.ts';
import { openDatabase } from './site-database.ts';
import { moveToPostgres } from './to-postgres.ts';

describe('a site that moves', () => {
  let trail: TestTrail;
  let place: PostgresPlace;
  beforeEach(async () => {
    trail = await testTrail('sqlite');
    place = await testSchema();
  });
  afterEach(async () => {
    await trail.close();
    await runOn(place, `DROP SCHEMA IF EXISTS ${place.limits.postgres_schema} CASCADE`);
  });
  const events = async (of: DatabasePlace) => {
    const scan = await scanAudit(of, siteSchema);
    const all = (await Array.fromAsync(scan.events(1, true))).flat();
    const evidence = gatherEvidence({ keys: [], anchor: null, checkpoints: null, ownKey: null });
    const { chains, problems } = await verifyScan(scan, evidence, { withDetails: true });
    await scan.close();
    return { all, chains, problems };
  };
  const fill = async (): Promise<void> => {
    await fillTrail(trail, 450);
    const rules = createRuleStore(trail.database, systemClock, 100);
    for (const name of ['a', 'b "Ä" 😀', 'c']) await rules.create({ name }, testAct);
    await rules.remove(3, testAct);
    const runtime = openRuntimeDatabase(join(trail.folder, 'runtime.sqlite'));
    const row = {
      execution_id: 'e-1',
      rule_id: 1,
      outcome: 'acted',
      unchanged: true,
      record: '{"x":1}',
    };
    await createRunStore(runtime).append({
      rows: [row],
      states: [{ rule_id: 1, state: '{"cooldown":1}' }],
      gone: [],
      claims: [{ point: '1:action:1', state: '{"rule":1}' }],
      segments: [{ point: '1:action:1', from_ms: 1, to_ms: null, state: '{}' }],
    });
    await runtime.close();
  };

  test('every row is copied, the chain verifies and continues, ids are not reused', async () => {
    await fill();
    const moved = await moveToPostgres(trail.folder, place, () => undefined);
    expect(moved).toMatchObject({
      rules: 2,
      rule_revision: 4,
      audit_chain: 1,
      audit_event: 450,
      audit_details: 450,
      execution_block: 1,
      rule_state: 1,
      point_claim: 1,
      point_grant: 0,
      point_owner: 1,
    });
    const [before, after] = [await events(trail.place), await events(place)];
    expect(after).toEqual(before);
    expect(after).toMatchObject({ problems: [], chains: [{ first: 1, last: 450, broken: null }] });
    const database = openDatabase(place);
    const rules = createRuleStore(database, systemClock, 100);
    expect(await rules.all()).toEqual(await createRuleStore(trail.database, systemClock, 100).all());
    expect((await rules.create({ name: 'd' }, testAct)).id).toBe(4);
    const log = createAuditLog({ database, clock: trail.clock, scope: testScope });
    expect((await log.append(auditEntry())).sequence).toBe(451);
    await expect(runOn(place, 'DELETE FROM audit_event')).rejects.toMatchObject({ code: 'storage-unavailable' });
    await database.close();
    const runtime = openRuntimeDatabase(place);
    expect(await createRunStore(runtime).states()).toEqual([{ rule_id: 1, state: '{"cooldown":1}' }]);
    expect(await createRunReader(runtime).page(1, undefined, 9)).toEqual(['{"x":1}']);
    await runtime.close();
  });

  test('stored forecasts are copied unchanged', async () => {
    await fill();
    const kind = { taskId: 'load', taskRevision: 1, bindingId: 'site', bindingRevision: 2 };
    const numbers = {
      value: Float64Array.of(1 / 3, -0),
      quantiles: [Float64Array.of(0.1, 0.2)],
      references: [Float64Array.of(1, 2), Float64Array.of(Number.NaN, 2), Float64Array.of(Number.NaN, Number.NaN)],
    };
    const files = await openForecastDatabase(join(trail.folder, 'forecasts.sqlite'), systemClock, silentLog);
    const stored = new ResultStore(files);
    await stored.keep(
      {
        resultId: '0190aee6-2139-7a87-8448-806f1b843201',
        kind,
        asOfMs: 0,
        keptMs: 1,
        firstMs: 900_000,
        lastMs: 1_800_000,
        steps: 2,
        probabilities: [0.5],
        inputDigest: 'sha256:0',
        outcome: { status: 'produced', derived: { data: { points: [] } } as never, numbers },
      },
      0,
    );
    const found = await stored.find('0190aee6-2139-7a87-8448-806f1b843201');
    await files.close();
    expect(await moveToPostgres(trail.folder, place, () => undefined)).toMatchObject({ kept_result: 1 });
    const server = await openForecastDatabase(place, systemClock, silentLog);
    expect(await new ResultStore(server).find('0190aee6-2139-7a87-8448-806f1b843201')).toEqual(found);
    await server.close();
  });

  test('recorded history: rows, rollups and series continue behind the last of the file', async () => {
    await fill();
    const borderMs = 740 * partitionMs;
    const [one, other] = [
      { instance: 2, point: 1 },
      { instance: 2, point: 2 },
    ];
    const file = openHistorian(join(trail.folder, 'history.sqlite'), historyLimits);
    const rows = Array.from({ length: 12_000 }, (_, index): HistoryRow => {
      const eventMs = borderMs + (index - 6000) * 60_000;
      const value = index % 7 === 0 ? null : Math.sin(index) * 1e3;
      const code = value === null ? quality.missing : quality.good;
      return { series: index % 3 === 0 ? other : one, eventMs, ingestedMs: eventMs + 5, value, quality: code };
    });
    await file.append(rows);
    await file.append(rows.slice(5995, 6005));
    const moved = await moveToPostgres(trail.folder, place, () => undefined);
    expect(moved).toMatchObject({ series: 2, sample: 12_010 });
    const server = openHistorian(place, historyLimits);
    for (const series of [one, other])
      expect(await exportedRows(server, { series })).toEqual(await exportedRows(file, { series }));
    const quarterMs = 900_000;
    const windowOf = async (from: Historian) => {
      const snapshot = await from.snapshot();
      const asked = { series: one, asOfMs: borderMs + 40 * quarterMs, cadenceMs: quarterMs, steps: 80 } as const;
      const rest = { aggregation: 'mean', duplicatePolicy: 'latest', maxSourceSkewMs: 5000 } as const;
      const answer = await snapshot.window({ ...asked, ...rest });
      await snapshot.close();
      return answer;
    };
    expect(await windowOf(server)).toEqual(await windowOf(file));
    // Both continue in the same way.
    for (const store of [file, server])
      await store.append([{ ...rows[0], series: { instance: 9, point: 9 } } as HistoryRow, rows[1] as HistoryRow]);
    expect(await windowOf(server)).toEqual(await windowOf(file));
    expect(await exportedRows(server, { series: { instance: 9, point: 9 } })).toHaveLength(1);
    await file.close();
    await server.close();
  });

  test('a broken chain is copied unchanged: nothing is repaired', async () => {
    await fill();
    await trail.tamper(`UPDATE audit_event SET subject_id = 'eve' WHERE sequence = 200`);
    await moveToPostgres(trail.folder, place, () => undefined);
    expect((await events(place)).chains[0]?.broken).toMatchObject({ kind: 'edited', sequence: 200 });
  });

  test('a server that holds a site is refused; a move that fails leaves nothing', async () => {
    await fill();
    await expect(moveToPostgres(join(trail.folder, 'nowhere'), place, () => undefined)).rejects.toThrow();
    expect(await runOn(place, 'SELECT 1 FROM rules')).toEqual([]);
    await moveToPostgres(trail.folder, place, () => undefined);
    await expect(moveToPostgres(trail.folder, place, () => undefined)).rejects.toThrow(/holds a site already/);
  });

  test('a commit may take longer than a statement of the service', async () => {
    await fill();
    const file = openHistorian(join(trail.folder, 'history.sqlite'), historyLimits);
    const row = { series: { instance: 1, point: 1 }, eventMs: 1000, ingestedMs: 1000, value: 1, quality: quality.good };
    await file.append([row]);
    await file.close();
    await prepareHistory(place);
    const { postgres_schema: schema } = place.limits;
    await runOn(
      place,
      `CREATE FUNCTION ${schema}.slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2.2); RETURN NULL; END';
       CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON series DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${schema}.slow()`,
    );
    const hasty = { ...place, limits: { ...place.limits, statement_timeout_ms: 1000 } };
    expect(await moveToPostgres(trail.folder, hasty, () => undefined)).toMatchObject({ rules: 2, sample: 1 });
  });

  test('a commit with a lost answer is not reported as a failure: it may have succeeded, and is not repeated', async () => {
    await fill();
    const { gate, url, close } = await startGate(Number(new URL(place.url).port), place.url);
    const progress = (text: string): void => {
      if (text.startsWith('rule_state')) gate.loseAnswersTo('COMMIT');
    };
    await expect(moveToPostgres(trail.folder, { ...place, url }, progress)).rejects.toThrow(
      /may have been stored there, whole, or not at all\. Run the command again: .* nothing is doubled/,
    );
    close();
    expect(await runOn(place, 'SELECT 1 FROM rules')).toHaveLength(2);
    await expect(moveToPostgres(trail.folder, place, () => undefined)).rejects.toThrow(/holds a site already/);
  });
});
