/** Errors for a site database in an unsupported format [audit §6]. */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { siteSchema } from '../../databases/schemas.ts';
import { openDatabase } from '../../databases/site-database.ts';
import { engines, runOn, testPlaces, testSchema } from '../../testing/engines.ts';
import { scanAudit } from './scan.ts';

const cases = [
  [1, /this program verifies \d+: verify it with the newer program that wrote it$/],
  [-1, /this program verifies \d+: start the service of this version once, or use the program of that one$/],
] as const;

describe.each(engines)('a site database on %s', (engine) => {
  const known = (engine === 'sqlite' ? siteSchema.file : siteSchema.server).length;

  test.each(cases)(
    '[audit §7] a data format that differs by %i is not verified, and what to do is said',
    async (more, advice) => {
      const places = await testPlaces(engine);
      onTestFinished(() => places.remove());
      const made = openDatabase(places.site);
      await made.ready();
      await made.close();
      const format = known + more;
      if (typeof places.site === 'string') {
        const database = new DatabaseSync(places.site);
        database.exec(`PRAGMA user_version = ${format}`);
        database.close();
      } else await runOn(places.site, `UPDATE data_format SET version = ${format} WHERE name = 'site'`);
      await expect(scanAudit(places.site, siteSchema)).rejects.toThrow(advice);
    },
  );
});

test('[audit §7] a server may take longer for a scan than for a statement of the service', async () => {
  const place = await testSchema();
  const made = openDatabase(place);
  await made.ready();
  await made.close();
  await runOn(
    place,
    `ALTER TABLE rules RENAME TO stored_rules;
     CREATE VIEW rules AS SELECT stored_rules.* FROM stored_rules RIGHT JOIN (SELECT pg_sleep(0.3)) AS slow ON true`,
  );
  const hasty = { ...place, limits: { ...place.limits, statement_timeout_ms: 100 } };
  const scan = await scanAudit(hasty, siteSchema);
  onTestFinished(() => scan.close());
  expect(await scan.rules()).toHaveLength(1);
});

test('[audit §6] a server on which no service has run yet is reported as such and not changed', async () => {
  const place = await testSchema();
  await expect(scanAudit(place, siteSchema)).rejects.toThrow(
    /data format 0, .*: start the service of this version once/,
  );
  expect(await runOn(place, `SELECT to_regnamespace('${place.limits.postgres_schema}') AS there`)).toEqual([
    { there: null },
  ]);
});
