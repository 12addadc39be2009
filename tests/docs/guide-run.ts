/**
 * Runs a guide as a reader would: in a fresh copy of what is published, block after block, in one shell.
 *
 *     ```sh                 run; a command that fails, or an HTTP answer of 400 or more, fails the guide
 *     ```sh service         started in the background and waited for until it answers; ended with the guide
 *     ```sh refused         run; must fail
 *     ```sh until           run again until it prints the next block, for questions to devices
 *     ```json file=NAME     saved (any language; JSON must be JSON)
 *     ```output             each line must be in what the block before it printed; … stands for anything
 *     ```text               not run
 *
 * The addresses of the text (ports 8080, 8989, 1502, 1883) are replaced by ports that are free here.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ownPort } from '../../src/testing/own-port.ts';
import { compiledOnce, programFile, root, waitFor } from '../e2e/running-service.ts';
import { type Block, codeBlocks } from './blocks.ts';
import type { DemoPast } from './demo-past.ts';

const blockDeadlineMs = 120_000;
const startDeadlineMs = 90_000;

export interface GuideOptions {
  /** Port of the text -> port of something that runs here. */
  readonly ports?: Readonly<Record<string, number>>;
  /** The first use of each program goes through npm and runs from the sources, as after a clone. */
  readonly npm?: 'real at first';
  /** Recorded before the guide begins, if it starts the demo; without it the demo records its past itself. */
  readonly past?: DemoPast;
}

/** Commands that cannot run here, by the first words of their line. */
const unsupported = /^\s*(docker|systemctl|sudo)\b/m;

export async function runGuide(file: string, options: GuideOptions = {}): Promise<void> {
  const folder = publishedCopy();
  const blocks = codeBlocks(join(root, file));
  if (blocks.some(startsDemo)) options.past?.copyTo(join(folder, 'data'));
  const httpPort = await ownPort();
  const forecasterPort = await ownPort();
  const ports = new Map(Object.entries({ ...options.ports, '8080': httpPort, '8989': forecasterPort }));
  const localized = (text: string): string =>
    text.replaceAll(/(127\.0\.0\.1:|localhost:|\bport[:=]? ?)(\d+)/g, (whole, before: string, port: string) =>
      ports.has(port) ? `${before}${ports.get(port)}` : whole,
    );
  const env = {
    ...shellEnvironment(folder, options.npm),
    SVC_HTTP_PORT: String(httpPort),
    SVC_FORECASTER_PORT: String(forecasterPort),
    SVC_LOG_LEVEL: 'info',
  };
  const shell = startShell(folder, env);
  const services: ChildProcess[] = [];
  let printed = '';
  try {
    for (const [index, block] of blocks.entries()) {
      const fail = (why: string): never => {
        throw new Error(`${file}:${block.line} ${why}`);
      };
      const text = localized(block.text);
      const [language = '', what = ''] = block.info;
      if (what.startsWith('file=')) {
        if (language === 'json') JSON.parse(text);
        save(folder, what.slice('file='.length), text);
      } else if (language === 'output') check(text, printed, fail);
      else if (language === 'sh' && what === 'service')
        services.push(await startService(text, folder, env, httpPort, fail));
      else if (language === 'sh') {
        if (unsupported.test(text)) fail('needs what is not here: mark it as text');
        const following = blocks[index + 1];
        if (what === 'until' && following?.info[0] !== 'output') fail('until needs a block of output after it');
        const next = what === 'until' ? localized(following?.text ?? '') : null;
        const { status, output } = await shell.run(withoutInstall(text), next);
        printed = output;
        if ((status !== 0) !== (what === 'refused')) fail(`ended with ${status}:\n${output}`);
      } else if (language !== 'text') fail(`a block must say what it is: '${block.info.join(' ')}'`);
    }
  } finally {
    shell.end();
    for (const service of services) await end(service);
    rmSync(folder, { recursive: true, force: true });
  }
}

const startsDemo = ({ info, text }: Block): boolean => info[1] === 'service' && text.includes('npm start');

/** `.ci/run` installs before any of this, and the tests are what runs this. */
function withoutInstall(text: string): string {
  return text.replaceAll(/npm ci\s*(&&\s*|$)/gm, '').replaceAll(/^npm test$/gm, '');
}

/** Everything that the repository would publish now, and what an install adds: the packages, and the built console. */
function publishedCopy(): string {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-guide-'));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const name of listed.toString().split('\0')) {
    if (name === '' || name.startsWith('tests/')) continue;
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    cpSync(join(root, name), join(folder, name), { force: true, errorOnExist: false });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const built = join('console', 'dist');
  if (existsSync(join(root, built))) cpSync(join(root, built), join(folder, built), { recursive: true });
  return folder;
}

/** Commands of `npm`, and the programs that they start. */
const programs = [
  ['exec setpoint --', 'setpoint'],
  ['start', 'start'],
  ['run serve', 'serve'],
] as const;

/**
 * First in the path: a `curl` that fails on an HTTP error, and an `npm` that starts the built program itself. That takes a tenth of
 * the time; where `npm` is `real at first`, a program's first start is by the npm that a reader has.
 */
function shellEnvironment(folder: string, npm: GuideOptions['npm']): NodeJS.ProcessEnv {
  const bin = join(folder, '.guide-bin');
  mkdirSync(bin);
  const withoutBin = '/usr/bin/env -S PATH="${PATH#*:}"';
  const starting = programs.map(([words, program]) => {
    const count = words.split(' ').length;
    const first = join(bin, `first-${program}`);
    if (npm === 'real at first') writeFileSync(first, '');
    // `rm` succeeds once.
    const built = `rm '${first}' 2>/dev/null || { shift ${count}; exec node '${programFile(program)}' "$@"; }`;
    return `case "$* " in '${words} '*) ${built};; esac\n`;
  });
  writeFileSync(join(bin, 'curl'), `#!/bin/sh\nexec ${withoutBin} curl --fail-with-body "$@"\n`);
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\n${starting.join('')}exec ${withoutBin} npm "$@"\n`);
  for (const command of ['curl', 'npm']) chmodSync(join(bin, command), 0o755);
  return { ...compiledOnce, HOME: folder, PATH: `${bin}:${join(root, 'node_modules', '.bin')}:${process.env['PATH']}` };
}

interface Ran {
  readonly status: number;
  readonly output: string;
}

interface Shell {
  /** Runs `text`; with `until`, repeatedly until it prints that or the deadline of the block has passed. */
  run(text: string, until: string | null): Promise<Ran>;
  end(): void;
}

function startShell(folder: string, env: NodeJS.ProcessEnv): Shell {
  // A process group: what a block leaves in the background ends with it.
  const shell = spawn('bash', ['--noprofile', '--norc'], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let output = '';
  shell.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  // One pipe for both: the end of a block must not overtake its error output.
  shell.stdin.write('exec 2>&1\n');
  let blocks = 0;
  const once = async (text: string): Promise<Ran> => {
    output = '';
    const mark = `end-of-block-${++blocks}:`;
    // Each line's failure counts, and the shell keeps what the block exported.
    shell.stdin.write(
      `guide_status=0; trap 'guide_status=$?' ERR\nset -o pipefail\n${text}\necho\necho "${mark}$guide_status"\n`,
    );
    const status = await waitFor(() => new RegExp(`${mark}(\\d+)\\n`).exec(output)?.[1], blockDeadlineMs).catch(() => {
      throw new Error(`the block did not end: ${text}\n${output}`);
    });
    return { status: Number(status), output: output.slice(0, output.lastIndexOf(mark)) };
  };
  return {
    async run(text, until) {
      const deadline = performance.now() + blockDeadlineMs;
      for (;;) {
        const ran = await once(text);
        if (until === null || missingIn(ran.output, until) === null || performance.now() > deadline) return ran;
      }
    },
    end: () => {
      if (shell.pid !== undefined && shell.exitCode === null) process.kill(-shell.pid, 'SIGKILL');
    },
  };
}

async function startService(
  text: string,
  folder: string,
  env: NodeJS.ProcessEnv,
  port: number,
  fail: (why: string) => never,
): Promise<ChildProcess> {
  const service = spawn('bash', ['--noprofile', '--norc', '-c', `exec env ${withoutInstall(text)}`], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  service.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  service.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await waitFor(async () => {
    if (service.exitCode !== null) fail(`the service ended with ${service.exitCode}:\n${output}`);
    // The demo installs its rules after it begins to answer; then it prints a sign-in link.
    if (text.includes('npm start') && !output.includes('/#code=')) return undefined;
    return (await fetch(`http://127.0.0.1:${port}/health`).catch(() => null))?.ok;
  }, startDeadlineMs).catch(() => fail(`the service does not answer:\n${output}`));
  return service;
}

async function end(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null) return;
  const ended = new Promise((resolve) => service.once('exit', resolve));
  service.kill('SIGTERM');
  await ended;
}

function save(folder: string, name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), `${text}\n`);
}

function check(expected: string, printed: string, fail: (why: string) => never): void {
  const missing = missingIn(printed, expected);
  if (missing !== null) fail(`not printed: ${missing}\nbut:\n${printed}`);
}

/** The first expected line that was not printed; null when all were. */
function missingIn(printed: string, expected: string): string | null {
  for (const line of expected.split('\n')) {
    const pattern = line
      .split('…')
      .map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
      .join('[^]*?');
    if (!new RegExp(pattern).test(printed)) return line;
  }
  return null;
}
