/** [platform §4.2] a reader of the log that stands still does not stop the service. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

interface Line {
  readonly msg: string;
  readonly n?: number;
  readonly lines?: number;
}

const log = JSON.stringify(new URL('./log.ts', import.meta.url).href);

/** Node, `$1`, runs the program `$2` and its output is a pipe, a socket, or a terminal. */
const outputs = {
  pipe: `"$1" "$2"`,
  socket: `"$1" -e "require('node:child_process')
    .spawn(process.argv[1], [process.argv[2]], { stdio: ['ignore', 'pipe', 'inherit'] })
    .stdout.pipe(process.stdout)" "$1" "$2"`,
  terminal: `export node="$1" program="$2"; script -qec '"$node" "$program"' /dev/null`,
} as const;
const muchLogged = `for (let n = 0; n < 2000; n++) log.info('line', { n, text: 'x'.repeat(1000) });
  writeFileSync(done, '');
  setTimeout(() => log.info('after'), 1000);`;

describe('standard output that somebody reads', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'setpoint-log-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  /** The lines that `reader`, a shell command, passes on of what `source` logs; `done` is a file that the program may write. */
  const logged = (source: string, reader: string, output: keyof typeof outputs = 'pipe'): Line[] => {
    const done = join(folder, 'done');
    const program = join(folder, 'program.mjs');
    writeFileSync(
      program,
      `import { writeFileSync, existsSync } from 'node:fs'; import { createLog } from ${log};
      const log = createLog('info'); const done = ${JSON.stringify(done)}; ${source}`,
    );
    const args = ['-c', `(${outputs[output]}) | (${reader})`, 'sh', process.execPath, program];
    const { stdout, stderr } = spawnSync('sh', args, { encoding: 'utf8', cwd: folder, timeout: 25_000 });
    expect(stderr).toBe('');
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  };
  const droppedOf = (lines: readonly Line[]): number => lines.reduce((sum, line) => sum + (line.lines ?? 0), 0);
  const untilDone = 'while ! [ -e done ]; do sleep 0.05; done; cat';

  test.each(['pipe', 'socket'] as const)(
    '%s: each line of two threads arrives whole, or is counted where the reader was too slow for a moment',
    (output) => {
      const lines = logged(
        `const { isMainThread, Worker } = await import('node:worker_threads');
        for (let n = 0; n < 2000; n++) log.info('line', { n, text: 'x'.repeat(100) });
        setTimeout(() => log.info('line', { n: 2000 }), 1500);
        if (isMainThread) new Worker('import(process.env.PROGRAM)', { eval: true, env: { PROGRAM: import.meta.url } });`,
        'cat',
        output,
      );
      const told = lines.filter(({ msg }) => msg === 'line');
      expect(told.length + droppedOf(lines)).toBe(2 * 2001);
      expect(told.at(-1)?.n).toBe(2000);
    },
  );

  test('while nobody reads, the program goes on; what did not fit is dropped, and counted once somebody reads again', () => {
    // 2000 lines of 1 kB: a pipe holds 64 kB. The reader begins when the program has got past them.
    const lines = logged(muchLogged, untilDone);
    const told = lines.filter(({ msg }) => msg === 'line');
    expect(told.length).toBeGreaterThan(10);
    expect(told.map(({ n }) => n)).toEqual(told.map((_, n) => n));
    const rest = lines.slice(told.length);
    expect(rest).toMatchObject([{ lines: 2000 - told.length }, { msg: 'after' }]);
    expect(rest[0]?.msg).toContain('log lines were dropped');
  });

  test.each(['pipe', 'terminal'] as const)(
    '%s: what a program could not tell before its end is counted at its end',
    (output) => {
      // The reader begins while the program ends; before, it has no place for the last lines.
      const lines = logged(
        `for (let n = 0; n < 2000; n++) log.info('line', { n, text: 'x'.repeat(1000) });
      process.prependListener('exit', () => writeFileSync(done, ''));`,
        untilDone,
        output,
      );
      const told = lines.filter(({ msg }) => msg === 'line');
      expect(told.length).toBeLessThan(2000);
      expect(told.length + droppedOf(lines)).toBe(2000);
    },
  );

  /** Fills the pipe to its last byte; the rest of the long line, and the others, wait for a reader. */
  const full = `log.info('long', { text: 'y'.repeat(200_000) }); for (let n = 0; n < 10; n++) log.info('line', { n });`;

  test('at its end, a program waits for a reader that begins just then: nothing is cut, and what was dropped is counted', () => {
    const lines = logged(`${full} process.prependListener('exit', () => writeFileSync(done, ''));`, untilDone);
    expect(lines).toMatchObject([{ msg: 'long', text: 'y'.repeat(200_000) }, { lines: 10 }]);
  });

  test('`lastWordsMs`: a program whose lines nobody reads ends nevertheless', () => {
    // The reader begins when the program has ended, however long that takes.
    const program = join(folder, 'program.mjs');
    writeFileSync(program, `import { createLog } from ${log}; const log = createLog('info'); ${full}`);
    const shell = `("$1" "$2"; touch ended) | (while ! [ -e ended ]; do sleep 0.05; done; cat)`;
    const args = ['-c', shell, 'sh', process.execPath, program];
    const { status, stdout } = spawnSync('sh', args, { encoding: 'utf8', cwd: folder, timeout: 25_000 });
    expect([status, stdout.startsWith('{')]).toEqual([0, true]);
  });

  test.each(['socket', 'terminal'] as const)('a %s that nobody reads does not stop the program either', (output) => {
    // What stands between takes some lines before it stops reading too.
    const lines = logged(muchLogged, untilDone, output);
    const told = lines.flatMap(({ n }) => n ?? []);
    expect(droppedOf(lines)).toBeGreaterThan(0);
    expect(told.length + droppedOf(lines)).toBe(2000);
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    expect(lines.at(-1)?.msg).toBe('after');
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
