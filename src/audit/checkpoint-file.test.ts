/** The checkpoint file after a crash or on a full disk [audit §7]: only incomplete lines are lost. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { testAuditKey, testScope } from '../testing/audit-trail.ts';
import { CheckpointFile } from './checkpoint-file.ts';
import { keyName, readCheckpoints, signStatement } from './statement.ts';

const owner = { log: 'events', ...testScope } as const;
const key = testAuditKey();
const name = keyName(key.publicKey);

const statementOf = (sequence: number) => {
  const root = Buffer.alloc(32, sequence).toString('base64');
  const note = `setpoint/test\n${sequence}\n${root}\n\n— setpoint/test AAAAAAAAAAAA\n`;
  return signStatement(key, owner, { sequence, hash: 'ab'.repeat(32), issuedAt: '2026-01-01T00:00:00.000Z' }, note);
};

describe('the checkpoint file', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'setpoint-checkpoints-'));
    path = join(folder, 'checkpoints.jsonl');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('[audit §7] torn at every byte of its last line it is repaired, and continues', () => {
    const [first, last] = [1, 2].map((sequence) => `${JSON.stringify(statementOf(sequence))}\n`);
    for (let kept = 0; kept <= (last ?? '').length; kept++) {
      writeFileSync(path, `${first}${(last ?? '').slice(0, kept)}`);
      const file = new CheckpointFile(path, name);
      const torn = file.repair();
      const isWhole = kept >= (last ?? '').length - 1;
      expect([kept, torn]).toEqual([kept, isWhole || kept === 0 ? null : (last ?? '').slice(0, kept)]);
      expect(file.lastHeads().get('events of tenant-1/project-1')?.sequence).toBe(isWhole ? 2 : 1);
      file.append(statementOf(3));
      const { statements, badLines } = readCheckpoints(readFileSync(path, 'utf8'));
      expect([badLines, statements.map(({ sequence }) => sequence)]).toEqual([
        [],
        isWhole ? ['1', '2', '3'] : ['1', '3'],
      ]);
    }
  });

  test('[audit §7] the last line of each chain counts, and only lines of the own key', () => {
    const file = new CheckpointFile(path, name);
    for (const sequence of [1, 2]) file.append(statementOf(sequence));
    const stranger = testAuditKey();
    const at = { sequence: 9, hash: 'cd'.repeat(32), issuedAt: '2026-01-01T00:00:00.000Z' };
    file.append(signStatement(stranger, owner, at, 'x\n1\nAAAA\n\n— x AAAAAAAA\n'));
    const access = { ...owner, log: 'access' } as const;
    file.append(signStatement(key, access, { ...at, sequence: 5 }, 'x\n1\nAAAA\n\n— x AAAAAAAA\n'));
    expect([...file.lastHeads()].map(([chain, { sequence }]) => [chain, sequence])).toEqual([
      ['access of tenant-1/project-1', 5],
      ['events of tenant-1/project-1', 2],
    ]);
  });

  test('[audit §7] a partial write leaves the file unchanged', () => {
    writeFileSync(path, `${'a'.repeat(900)}\n`);
    const module = JSON.stringify(new URL('../base/own-file.ts', import.meta.url).href);
    const program = `import { appendLineDurably } from ${module};
      try { appendLineDurably(${JSON.stringify(path)}, 'b'.repeat(900)); } catch (error) { console.log(error.code); }`;
    // No file of this process may exceed 1 KiB.
    const limited = [
      '-c',
      `trap '' XFSZ; ulimit -f 1; exec "$0" --input-type=module -e "$1"`,
      process.execPath,
      program,
    ];
    const ended = spawnSync('bash', limited, { encoding: 'utf8' });
    expect([ended.stderr, ended.stdout.trim()]).toEqual(['', 'EFBIG']);
    expect(statSync(path).size).toBe(901);
  });
});
