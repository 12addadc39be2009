/** A real service for tests: the built program as a child process, with folders of its own, on a free port. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Role } from '../../src/gateway/claims.ts';
import { issueToken } from '../../src/gateway/identity.ts';
import { signingKey } from '../../src/gateway/local-keys.ts';
import { type AnswerCheck, createAnswerCheck, type Described } from './described.ts';

export const root = join(import.meta.dirname, '..', '..');

/** Built by `tests/setup/program.ts`. */
export const builtProgram = join(root, 'node_modules', '.cache', 'program');

/** The file of a program by its name below `src/bin/`, as built; a path is another one. */
export function programFile(name: string): string {
  return isAbsolute(name) ? name : join(builtProgram, 'dist', 'bin', `${name}.js`);
}

/** Modules are compiled once for all the processes that the tests start, which saves half of each start. */
export const compiledOnce = { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled') };

export interface TestFolders {
  readonly config: string;
  readonly data: string;
  write(name: string, text: string): void;
  remove(): void;
}

export function testFolders(site: string): TestFolders {
  const base = mkdtempSync(join(tmpdir(), 'setpoint-e2e-'));
  const config = join(base, 'config');
  mkdirSync(config);
  writeFileSync(join(config, 'site.yaml'), site);
  return {
    config,
    data: join(base, 'data'),
    write: (name, text) => writeFileSync(join(config, name), text),
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

export function serviceEnvironment(
  folders: TestFolders,
  more: Readonly<Record<string, string>> = {},
): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    ...compiledOnce,
    SVC_HTTP_PORT: '0',
    SVC_CONFIG_DIR: folders.config,
    SVC_DATA_DIR: folders.data,
    ...more,
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Assertions inspect the answers, and do not need their exact type.
  readonly body: Json;
}
/** A parsed answer whose members may be read without knowing them. */
export interface Json {
  readonly [name: string]: Json;
}

interface RequestOptions {
  readonly token?: string | null;
  readonly body?: unknown;
  /** Sent unchanged. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestService {
  readonly base: string;
  readonly folders: TestFolders;
  readonly process: ChildProcess;
  token(role: Role): Promise<string>;
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>;
  /** A confirmed request of an Engineer, to the automation API. */
  command(method: string, path: string, body?: Readonly<Record<string, unknown>>): Promise<Reply>;
  read(path: string): Promise<Reply>;
  logs(): string;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** One for all services of a program and its roles: they describe the same operations, and compiling their schemas takes a second. */
const checks = new Map<string, Promise<AnswerCheck>>();

function checkOf(base: string, kind: string): Promise<AnswerCheck> {
  const known = checks.get(kind);
  if (known !== undefined) return known;
  const made = fetch(`${base}/openapi.json`)
    .then((answer) => answer.json())
    .then((description) => createAnswerCheck(description as Described));
  checks.set(kind, made);
  // The service ended meanwhile: ask the next one.
  made.catch(() => void checks.delete(kind));
  return made;
}

const api = '/api/v1/automation/api';
const startDeadlineMs = 60_000;

export async function startTestService(
  folders: TestFolders,
  more: Readonly<Record<string, string>> = {},
  program = 'serve',
): Promise<TestService> {
  const child = spawn(process.execPath, [programFile(program)], {
    env: serviceEnvironment(folders, more),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)));
  const port = await waitFor(() => {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}: ${output}`);
    return /"port":(\d+).*"msg":"listening"/.exec(output)?.[1];
  }, startDeadlineMs);
  const base = `http://127.0.0.1:${port}`;
  const tokens = new Map<Role, string>();

  const token = async (role: Role): Promise<string> => {
    const known = tokens.get(role);
    if (known !== undefined) return known;
    const claims = { subject: 'tester', role, issuedAtSeconds: Math.floor(Date.now() / 1000), lifetimeSeconds: 3600 };
    const issued = await issueToken(signingKey(folders.data), claims);
    tokens.set(role, issued);
    return issued;
  };
  const request = async (method: string, path: string, options: RequestOptions = {}): Promise<Reply> => {
    const bearer = options.token === undefined ? await token('Engineer') : options.token;
    const text = options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(text === undefined ? {} : { body: text }),
    });
    const answer = await response.text();
    const type = response.headers.get('content-type');
    const fault = (await checkOf(base, `${program} ${more['SVC_ROLES'] ?? ''}`)).faultOf({
      method,
      path,
      status: response.status,
      type,
      text: answer,
    });
    if (fault !== null) throw new Error(`${method} ${path} answered otherwise than described: ${fault}\n${answer}`);
    return { status: response.status, headers: response.headers, text: answer, body: parsed(answer) };
  };

  return {
    base,
    folders,
    process: child,
    token,
    request,
    command: (method, path, body = {}) =>
      request(method, `${api}${path}`, {
        body: { ...body, confirmed: true },
        headers: { 'x-svc-confirmed': 'true' },
      }),
    read: (path) => request('GET', `${api}${path}`),
    logs: () => output,
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null) child.kill(signal);
      return exited;
    },
  };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {};
  }
}

/** Tries again until there is an answer or the deadline passes. */
export async function waitFor<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  deadlineMs = 10_000,
): Promise<NonNullable<T>> {
  const endMs = Date.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== null && answer !== false) return answer;
    if (Date.now() > endMs) throw new Error('what was waited for did not happen in time');
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Runs a program to its end. */
export function runCommand(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): { status: number | null; stdout: string; stderr: string } {
  const result = spawnSync(process.execPath, [programFile(program), ...args], {
    env,
    encoding: 'utf8',
    timeout: 300_000,
  });
  return { status: result.status, stdout: result.stdout, stderr: result.stderr };
}

/** The flow of most tests: reads measurement 1:1 as `x`, writes `value` to action 1:1 when `when` holds. */
export function editorFlow(when = 'x > 10', value: number | string = 5): Record<string, unknown> {
  const at = { x: 0, y: 0 };
  const input = {
    variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1 }],
    wires: { default: ['decide'] },
  };
  return {
    nodes: [
      { id: 'start', type: 'start', position: at, data: { config: { wires: { default: ['read'] } } } },
      { id: 'read', type: 'input', position: at, data: { label: 'Read', config: input } },
      {
        id: 'decide',
        type: 'decision',
        position: at,
        data: { config: { branches: [{ name: 'high', when }], wires: { high: ['act'], else: ['end'] } } },
      },
      {
        id: 'act',
        type: 'action',
        position: at,
        data: { config: { writes: [{ instance: 1, point: 1, value }], wires: { default: ['end'] } } },
      },
      { id: 'end', type: 'end', position: at },
    ],
    edges: [],
    viewport: { x: 1, y: 2, zoom: 1 },
  };
}

/** Writes 20 to measurement 1:1, which makes the other flows act. */
export function feedFlow(value: number | string = 20): Record<string, unknown> {
  const at = { x: 0, y: 0 };
  const write = { writes: [{ instance: 1, point_type: 'measurement', point: 1, value }], wires: { default: ['end'] } };
  return {
    nodes: [
      { id: 'start', type: 'start', position: at, data: { config: { wires: { default: ['feed'] } } } },
      { id: 'feed', type: 'action', position: at, data: { config: write } },
      { id: 'end', type: 'end', position: at },
    ],
    edges: [],
  };
}

/** One instance with a level that rules can write, a pump, and a second pump. */
export const virtualSite = `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: Europe/Amsterdam }
parameters:
  limit: { value: 10, unit: m }
channels:
  - { id: derived, driver: virtual }
instances:
  - id: 1
    name: tank
    points:
      - { id: 1, name: level, kind: measurement, unit: m, channel: derived }
      - { id: 1, name: pump, kind: action, unit: kW, min: 0, max: 100, step: 0.5, channel: derived }
      - { id: 2, name: valve, kind: action, unit: "1", channel: derived }
`;
