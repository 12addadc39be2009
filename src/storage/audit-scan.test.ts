/** What is said of a site database whose format is not this program's (decisions §3 "Store"). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { scanAudit } from './audit-scan.ts';
import { openDatabase } from './database.ts';
import { migrations } from './migrations.ts';

const known = migrations.site.length;

test.each([
  [known + 1, /this program verifies \d+: verify it with the newer program that wrote it$/],
  [known - 1, /this program verifies \d+: start the service of this version once, or use the program of that one$/],
])('decisions §3 data format %i is not verified, and what to do is said', async (format, advice) => {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-scan-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'site.sqlite');
  await openDatabase(file).close();
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA user_version = ${format}`);
  database.close();
  await expect(scanAudit(file)).rejects.toThrow(advice);
});
