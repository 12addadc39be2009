/** [platform §4.2] a reader of the log that stands still does not stop the service. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

interface Line {
  readonly msg: string;
  readonly n?: number;
  readonly lines?: number;
}

const log = JSON.stringify(new URL('./log.ts', import.meta.url).href);

describe('standard output that is a pipe', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'setpoint-log-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  /** The lines that `reader`, a shell command, passes on of what `source` logs; `done` is a file that the program may write. */
  const logged = (source: string, reader: string): Line[] => {
    const done = join(folder, 'done');
    const program = `import { writeFileSync, existsSync } from 'node:fs'; import { createLog } from ${log};
      const log = createLog('info'); const done = ${JSON.stringify(done)}; ${source}`;
    const pipeline = `"$1" --input-type=module -e "$2" | (${reader})`;
    const args = ['-c', pipeline, 'sh', process.execPath, program];
    const { stdout, stderr } = spawnSync('sh', args, { encoding: 'utf8', cwd: folder, timeout: 25_000 });
    expect(stderr).toBe('');
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  };
  const untilDone = 'while ! [ -e done ]; do sleep 0.05; done; cat';

  test('each line arrives, or is counted where the reader was too slow for a moment', () => {
    const lines = logged(
      `for (let n = 0; n < 2000; n++) log.info('line', { n, text: 'x'.repeat(100) });
      setTimeout(() => log.info('line', { n: 2000 }), 500);`,
      'cat',
    );
    const told = lines.filter(({ msg }) => msg === 'line');
    const dropped = lines.reduce((sum, line) => sum + (line.lines ?? 0), 0);
    expect(told.length + dropped).toBe(2001);
    expect(told.at(-1)?.n).toBe(2000);
  });

  test('while nobody reads, the program goes on; what did not fit is dropped, and counted once somebody reads again', () => {
    // 2000 lines of 1 kB: a pipe holds 64 kB. The reader begins when the program has got past them.
    const lines = logged(
      `for (let n = 0; n < 2000; n++) log.info('line', { n, text: 'x'.repeat(1000) });
      writeFileSync(done, '');
      setTimeout(() => log.info('after'), 1000);`,
      untilDone,
    );
    const told = lines.filter(({ msg }) => msg === 'line');
    expect(told.length).toBeGreaterThan(10);
    expect(told.map(({ n }) => n)).toEqual(told.map((_, n) => n));
    const rest = lines.slice(told.length);
    expect(rest).toMatchObject([{ lines: 2000 - told.length }, { msg: 'after' }]);
    expect(rest[0]?.msg).toContain('log lines were dropped');
  });

  test('a line longer than the pipe is whole when it is read, also with others behind it', () => {
    const lines = logged(
      `log.info('long', { text: 'y'.repeat(200_000) });
      writeFileSync(done, '');
      let n = 0;
      const timer = setInterval(() => { log.info('next', { n: n++ }); if (n === 20) clearInterval(timer); }, 100);`,
      untilDone,
    );
    expect(lines[0]).toMatchObject({ msg: 'long', text: 'y'.repeat(200_000) });
    expect(lines.at(-1)).toMatchObject({ msg: 'next', n: 19 });
  });

  test('a reader that ended stops nothing', () => {
    logged(`setTimeout(() => { log.info('one'); log.info('two'); writeFileSync('went-on', ''); }, 500);`, 'true');
    expect(readFileSync(join(folder, 'went-on'), 'utf8')).toBe('');
  });
});
