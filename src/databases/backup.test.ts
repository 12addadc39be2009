/** Backups of a data dir [platform §4.4], on files of their own. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BackupError, backUp, checkBackup, isHalfRestored, restore } from './backup.ts';
import { copyBeforeMigration, databaseFile, databaseFormats } from './data-files.ts';
import { siteSchema } from './schemas.ts';
import { openDatabase } from './site-database.ts';

let base: string;
let dataDir: string;
let target: string;
beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), 'setpoint-backup-'));
  [dataDir, target] = [join(base, 'data'), join(base, 'copy')];
  mkdirSync(join(dataDir, 'logs', 'rules'), { recursive: true });
  await openDatabase(databaseFile(dataDir, 'site')).close();
  writeFileSync(join(dataDir, 'signing-key.pem'), 'key', { mode: 0o600 });
  writeFileSync(join(dataDir, 'audit-checkpoints.jsonl'), '{}\n');
  writeFileSync(join(dataDir, 'service.lock'), '');
  writeFileSync(join(dataDir, 'service.lock-journal'), '');
  writeFileSync(join(dataDir, 'logs', 'rules', '1.log'), 'line\n');
  mkdirSync(join(dataDir, 'plant'));
  writeFileSync(join(dataDir, 'plant', 'state.json'), '{"soc":50}');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const order = () => ({ dataDir, target, version: '1.2.3', wallMs: Date.UTC(2026, 7, 15), onFile: () => undefined });
const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof BackupError) return error.message;
    throw error;
  }
  return 'nothing';
};

describe('[platform §4.4] a backup', () => {
  test('a small file that disappears during the backup is skipped; a target that disappears is an error', () => {
    mkdirSync(join(dataDir, 'journal'));
    const journal = join(dataDir, 'journal', '1.rows');
    writeFileSync(journal, 'rows');
    const removing = (gone: string) => ({
      ...order(),
      onFile: (name: string) => {
        if (name === 'journal/1.rows') rmSync(gone, { recursive: true });
      },
    });
    const { files } = backUp(removing(journal));
    expect(files.map(({ name }) => name)).not.toContain('journal/1.rows');
    expect(checkBackup(target).files).toEqual(files);
    rmSync(target, { recursive: true });
    writeFileSync(journal, 'rows');
    expect(refusal(() => backUp(removing(target)))).toMatch(/^the backup in .*copy is not complete: ENOENT/);
  });

  test('a damaged database and an unreadable manifest are reported with their file', () => {
    const other = join(dataDir, 'of-another-program.sqlite');
    writeFileSync(other, 'not a database');
    expect(refusal(() => backUp(order()))).toBe(`${other} cannot be copied: file is not a database`);
    rmSync(other);
    rmSync(target, { recursive: true });
    backUp(order());
    rmSync(join(target, 'backup.json'));
    mkdirSync(join(target, 'backup.json'));
    expect(refusal(() => checkBackup(target))).toMatch(/^.*copy cannot be checked: EISDIR/);
    expect(refusal(() => restore(target, join(base, 'restored'), () => undefined))).toMatch(
      /cannot be checked: EISDIR/,
    );
  });

  test('has databases, keys, checkpoints and small files; no lock, no log; for its owner alone', () => {
    const manifest = backUp(order());
    expect(manifest).toMatchObject({
      schema: 'svc.backup.v1',
      created_at: '2026-08-15T00:00:00.000Z',
      version: '1.2.3',
      formats: { site: siteSchema.file.length },
    });
    expect(manifest.files.map(({ name }) => name).toSorted()).toEqual([
      'audit-checkpoints.jsonl',
      'plant/state.json',
      'signing-key.pem',
      'site.sqlite',
    ]);
    for (const { name } of manifest.files) expect(statSync(join(target, name)).mode & 0o777).toBe(0o600);
    expect(statSync(target).mode & 0o777).toBe(0o700);
    expect(checkBackup(target)).toEqual(manifest);
    // Inspecting it changes nothing.
    expect(readdirSync(target).toSorted()).toEqual([
      'audit-checkpoints.jsonl',
      'backup.json',
      'plant',
      'signing-key.pem',
      'site.sqlite',
    ]);
  });

  test('taken while another connection writes: it has exactly the commits before it', () => {
    const writer = new DatabaseSync(join(dataDir, 'busy.sqlite'));
    writer.exec(
      'PRAGMA journal_mode = WAL; CREATE TABLE t (n); INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)',
    );
    backUp(order());
    writer.exec('COMMIT');
    writer.close();
    const copy = new DatabaseSync(join(target, 'busy.sqlite'), { readOnly: true });
    expect(copy.prepare('SELECT n FROM t').all()).toEqual([{ n: 1 }]);
    copy.close();
  });

  test('never of a data dir that a newer program wrote, and nothing is left of the attempt', () => {
    const database = new DatabaseSync(databaseFile(dataDir, 'site'));
    database.exec(`PRAGMA user_version = ${siteSchema.file.length + 1}`);
    database.close();
    expect(refusal(() => backUp(order()))).toMatch(
      /data format \d+ of site; this program supports \d+: back it up with the newer program/,
    );
    expect(existsSync(target)).toBe(false);
  });

  test('never into a folder that has something in it', () => {
    mkdirSync(target);
    writeFileSync(join(target, 'x'), '');
    expect(refusal(() => backUp(order()))).toMatch(/is not empty/);
    expect(readdirSync(target)).toEqual(['x']);
  });

  test.each([
    ['a byte that changed', () => writeFileSync(join(target, 'signing-key.pem'), 'kex'), /damaged: signing-key\.pem/],
    ['a file that is missing', () => rmSync(join(target, 'plant', 'state.json')), /not whole: plant\/state\.json/],
    ['no manifest', () => rmSync(join(target, 'backup.json')), /contains no backup/],
    ['a manifest that is none', () => writeFileSync(join(target, 'backup.json'), '{'), /is not one/],
    [
      'a name that leads elsewhere',
      () => {
        const text = readFileSync(join(target, 'backup.json'), 'utf8');
        writeFileSync(join(target, 'backup.json'), text.replace('plant/state.json', '../data/signing-key.pem'));
      },
      /is not one/,
    ],
    [
      'a format of a newer program',
      () => {
        const text = readFileSync(join(target, 'backup.json'), 'utf8');
        writeFileSync(join(target, 'backup.json'), text.replace(/"site": \d+/, '"site": 99'));
      },
      /data format 99 of site; this program supports/,
    ],
  ])('is refused with %s, before anything is restored', (_name, damage, message) => {
    backUp(order());
    chmodSync(join(target, 'signing-key.pem'), 0o600);
    damage();
    expect(refusal(() => restore(target, join(base, 'new'), () => undefined))).toMatch(message);
    expect(existsSync(join(base, 'new'))).toBe(false);
  });

  test('restores byte by byte into a place that is empty, and never over data', () => {
    const manifest = backUp(order());
    expect(refusal(() => restore(target, dataDir, () => undefined))).toMatch(/is not empty/);
    const place = join(base, 'new');
    mkdirSync(place);
    restore(target, place, () => undefined);
    for (const { name } of manifest.files)
      expect(readFileSync(join(place, name))).toEqual(readFileSync(join(target, name)));
    expect(readdirSync(base).toSorted()).toEqual(['copy', 'data', 'new']);
  });

  test('restores into an existing folder without replacing it, because a mounted volume cannot be replaced', () => {
    backUp(order());
    const place = join(base, 'new');
    mkdirSync(place);
    const { ino } = statSync(place);
    restore(target, place, () => undefined);
    expect(statSync(place).ino).toBe(ino);
    expect(readdirSync(place).toSorted()).toEqual([
      'audit-checkpoints.jsonl',
      'plant',
      'signing-key.pem',
      'site.sqlite',
    ]);
  });

  test('a data dir inside the backup is refused, and the backup is not changed', () => {
    backUp(order());
    const before = readdirSync(target);
    for (const place of [target, join(target, 'site'), join(target, '..', 'copy', 'site')])
      expect(() => restore(target, place, () => undefined)).toThrow('the data dir must lie outside the backup');
    expect(readdirSync(target)).toEqual(before);
    restore(target, `${target}-site`, () => undefined);
  });

  test('a restore that ended midway is known as such, and done again it is whole', () => {
    const manifest = backUp(order());
    const place = join(base, 'new');
    const interrupted = (): unknown =>
      restore(target, place, (name) => {
        if (name === 'site.sqlite') throw new Error('power is lost');
      });
    expect(interrupted).toThrow('power is lost');
    expect(isHalfRestored(place)).toBe(true);
    // As if it had ended while the copies were moved into place.
    writeFileSync(join(place, 'signing-key.pem'), 'half');
    restore(target, place, () => undefined);
    expect(isHalfRestored(place)).toBe(false);
    for (const { name } of manifest.files)
      expect(readFileSync(join(place, name))).toEqual(readFileSync(join(target, name)));
  });

  test('a place that cannot be is one line, of a backup and of a restore', () => {
    backUp(order());
    writeFileSync(join(base, 'file'), '');
    const place = join(base, 'file', 'below');
    expect(refusal(() => backUp({ ...order(), target: place }))).toBe(`${place} cannot be written: ENOTDIR`);
    expect(refusal(() => restore(target, place, () => undefined))).toMatch(/cannot be written: ENOTDIR$/);
  });
});

describe('[platform §4.4] a data dir of an older format', () => {
  test('is copied before it is brought forward, once, and only then', async () => {
    expect(copyBeforeMigration(dataDir, 0)).toEqual([]);
    const file = databaseFile(dataDir, 'site');
    rmSync(file);
    const older = new DatabaseSync(file);
    const [first] = siteSchema.file;
    if (typeof first !== 'string') throw new Error('the first step is SQL');
    older.exec(first);
    older.exec('PRAGMA user_version = 1');
    older.close();
    const copies = copyBeforeMigration(dataDir, Date.UTC(2026, 7, 15, 12));
    expect(copies).toEqual(['before-migration/site-format-1-20260815T120000Z.sqlite']);
    await openDatabase(file).close();
    expect(databaseFormats(dataDir)).toMatchObject([{ name: 'site', found: siteSchema.file.length }]);
    const copy = new DatabaseSync(join(dataDir, copies[0] ?? ''), { readOnly: true });
    expect(copy.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1 });
    copy.close();
    expect(copyBeforeMigration(dataDir, 0)).toEqual([]);
  });
});
