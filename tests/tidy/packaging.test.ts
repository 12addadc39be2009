/** Container, compose file and units name files that exist, and grant no more rights than necessary. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..', '..');

const read = (name: string): string => readFileSync(join(root, name), 'utf8');
const entryPoints = (text: string): string[] =>
  Array.from(text.matchAll(/dist\/(bin\/[a-z-]+)\.js/g), ([, name]) => `src/${name}.ts`);
const units = readdirSync(join(root, 'ops/systemd')).filter((name) => name.endsWith('.service'));
/** It starts containers, which are confined themselves. */
const composeUnit = 'setpoint-compose.service';
const backupUnit = 'setpoint-backup.service';
const confined = ['NoNewPrivileges=yes', 'ProtectSystem=strict', 'PrivateTmp=yes', 'CapabilityBoundingSet='];

/** The guide that a unit names exists. */
function expectDocumented(unit: string): void {
  const [, documentation = ''] = /^Documentation=file:\/\/\/opt\/setpoint\/(.*)$/m.exec(unit) ?? [];
  expect(documentation).toMatch(/\.md$/);
  expect(existsSync(join(root, documentation))).toBe(true);
}

interface ComposeService {
  readonly image?: string;
  readonly read_only?: boolean;
  readonly network_mode?: string;
  readonly profiles?: readonly string[];
  readonly user?: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly (
    | string
    | { readonly source: string; readonly bind: { readonly create_host_path: boolean } }
  )[];
  readonly healthcheck?: { readonly test?: readonly string[] };
}

const servicesOf = (file: string): Readonly<Record<string, ComposeService>> =>
  (parse(read(`ops/compose/${file}`), { merge: true }) as { services: Readonly<Record<string, ComposeService>> })
    .services;

describe('packaging', () => {
  test('every program that is started exists', () => {
    const files = ['Dockerfile', 'ops/compose/compose.yaml', ...units.map((name) => `ops/systemd/${name}`)];
    const named = files.flatMap((file) => entryPoints(read(file)));
    expect(named.length).toBeGreaterThanOrEqual(4);
    expect(named.filter((name) => !existsSync(join(root, name)))).toEqual([]);
  });

  test('the container runs as nobody in particular, and copies no secrets', () => {
    const dockerfile = read('Dockerfile');
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(dockerfile).toMatch(/^HEALTHCHECK /m);
    expect(dockerfile.lastIndexOf('USER node')).toBeGreaterThan(dockerfile.lastIndexOf('FROM '));
    expect(read('.dockerignore').split('\n')).toEqual(
      expect.arrayContaining(['.git', 'data', 'node_modules', 'ops', '**/.env']),
    );
  });

  test('the command line is on the path of the container: npm exec would write into a home', () => {
    expect(read('Dockerfile')).toContain(' ln -s /app/dist/bin/setpoint.js /usr/local/bin/setpoint\n');
    expect(statSync(join(root, 'src/bin/setpoint.ts')).mode & 0o111).not.toBe(0);
  });

  test.each(['compose.yaml', 'several-machines.yaml'])('%s: confined, and published on loopback only', (file) => {
    for (const [name, service] of Object.entries(servicesOf(file))) {
      // The database's image starts as root to own its folder, and becomes another user.
      if (name !== 'postgres')
        expect([name, service]).toMatchObject([
          name,
          { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
        ]);
      expect(service.ports?.filter((port) => !port.startsWith('127.0.0.1:')) ?? []).toEqual([]);
      // An engine creates a missing folder as root, and the service would restart again and again on an empty one.
      for (const volume of service.volumes ?? [])
        if (typeof volume === 'string') expect(volume).not.toMatch(/^\.\/config/);
        else expect([volume.source, volume.bind]).toEqual([volume.source, { create_host_path: false }]);
    }
  });

  test('[processor §6.3] the forecaster stays on the loopback of a service that is started again', () => {
    const services = servicesOf('compose.yaml');
    expect(Object.keys(services)).toEqual(['network', 'setpoint', 'forecaster', 'broker']);
    // `local` means loopback. A network owned by one of the two would leave the other behind when its owner restarts.
    for (const name of ['setpoint', 'forecaster']) expect(services[name]?.network_mode).toBe('service:network');
    expect(services['network']?.ports).toEqual(['127.0.0.1:8080:8080']);
    expect(services['forecaster']?.volumes).toMatchObject([{ source: './config/processing/tasks', target: '/tasks' }]);
    // Without task declarations it would not start.
    expect(services['forecaster']?.profiles).toEqual(['forecasts']);
    // Without capabilities a process that starts as root cannot become another user, and the broker would end.
    expect(services['broker']?.user).toBe('1883:1883');
  });

  test('replicas: the proxy looks for each by its name again, and they wait for the database itself', () => {
    const services = servicesOf('several-machines.yaml');
    const replicas = Object.keys(services).filter((name) => services[name]?.image === 'setpoint');
    const proxy = read('ops/compose/haproxy.cfg');
    expect(Array.from(proxy.matchAll(/^ +server (\S+) \1:8080$/gm), ([, name]) => name)).toEqual(replicas);
    expect(proxy).toMatch(/^ +default-server .*\bcheck\b.* resolvers engine /m);
    // The server that creates the database listens on its socket only, and reports ready.
    expect(services['postgres']?.healthcheck?.test).toEqual(['CMD', 'pg_isready', '-h', '127.0.0.1', '-U', 'setpoint']);
  });

  test.each(units.filter((name) => name !== composeUnit && name !== backupUnit))('%s is confined', (name) => {
    const unit = read(`ops/systemd/${name}`);
    for (const line of [
      ...confined,
      'Restart=always',
      // Without it systemd gives up on a unit that ended five times within ten seconds.
      'StartLimitIntervalSec=0',
    ])
      expect(unit.split('\n')).toContain(line);
    expectDocumented(unit);
  });

  test('a backup each night reads what the service reads, is confined as it is, and has no network', () => {
    const [unit, service] = [read(`ops/systemd/${backupUnit}`), read('ops/systemd/setpoint.service')];
    for (const line of [
      ...confined,
      'Type=oneshot',
      'PrivateNetwork=yes',
      'ReadWritePaths=/var/lib/setpoint /var/backups/setpoint',
    ])
      expect(unit.split('\n')).toContain(line);
    const shared = /^(User|Group|WorkingDirectory|EnvironmentFile|Environment=SVC).*$/gm;
    expect(unit.match(shared)).toEqual(service.match(shared));
    expect(unit).toMatch(/^ExecStart=\S+ dist\/bin\/setpoint\.js backup \/var\/backups\/setpoint --keep \d+$/m);
    expectDocumented(unit);
    // Missed while the machine was off, it is made up for.
    const timer = read('ops/systemd/setpoint-backup.timer').split('\n');
    for (const line of ['OnCalendar=*-*-* 03:15:00', 'Persistent=true', 'WantedBy=timers.target'])
      expect(timer).toContain(line);
    expectDocumented(timer.join('\n'));
  });

  test('at boot the containers are brought up in order, and again until they are', () => {
    const unit = read(`ops/systemd/${composeUnit}`);
    for (const line of [
      'Requires=docker.service',
      'After=docker.service network-online.target',
      'Type=oneshot',
      'RemainAfterExit=yes',
      'ExecStart=/usr/bin/docker compose up --detach',
      'ExecStop=/usr/bin/docker compose stop',
      'Restart=on-failure',
      'StartLimitIntervalSec=0',
      'WantedBy=multi-user.target',
    ])
      expect(unit.split('\n')).toContain(line);
    // Compose reads the file of this name in the folder where it is started.
    const [, folder = ''] = /^WorkingDirectory=\/opt\/setpoint\/(.*)$/m.exec(unit) ?? [];
    expect(existsSync(join(root, folder, 'compose.yaml'))).toBe(true);
    expectDocumented(unit);
  });

  test('the bill of materials lists the packages of the service and of the console build, each with its licence', () => {
    const result = spawnSync('npm', ['run', '-s', 'sbom'], { cwd: root, encoding: 'utf8' });
    expect(result.status).toBe(0);
    const bill = JSON.parse(result.stdout) as {
      readonly metadata: { readonly component: { readonly name: string } };
      readonly components: readonly {
        readonly name: string;
        readonly licenses?: readonly unknown[];
        readonly hashes?: readonly unknown[];
        readonly properties: readonly unknown[];
      }[];
    };
    expect(bill.metadata.component.name).toBe('setpoint');
    const names = bill.components.map(({ name }) => name);
    const { dependencies, peerDependencies } = JSON.parse(read('package.json')) as Readonly<Record<string, object>>;
    const own = { ...dependencies, ...peerDependencies };
    const bundled = ['react', 'react-dom', 'scheduler', 'uplot', '@mantine/core', '@xyflow/react', '@dagrejs/dagre'];
    expect(names).toEqual(expect.arrayContaining([...Object.keys(own), 'ws', 'zod', ...bundled]));
    expect(names.filter((name) => /^(vitest|vite|fast-check|typescript|playwright-core|knip)$/.test(name))).toEqual([]);
    expect(bill.components.filter(({ licenses = [] }) => licenses.length === 0).map(({ name }) => name)).toEqual([]);
    const { sha256 } = JSON.parse(read('setup/node-binaries.json')) as { readonly sha256: Record<string, string> };
    const digests = bill.components.filter(({ name }) => name === 'node').flatMap(({ hashes = [] }) => hashes);
    expect(digests).toEqual(Object.values(sha256).map((content) => ({ alg: 'SHA-256', content })));
    expect(JSON.stringify(bill)).not.toContain('cdx:npm:package:development');
  });
});
