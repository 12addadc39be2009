/** Container, compose file and units name what is there, and give no more rights than they must. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..', '..');

const read = (name: string): string => readFileSync(join(root, name), 'utf8');
const entryPoints = (text: string): string[] => Array.from(text.matchAll(/src\/bin\/[a-z-]+\.ts/g), ([name]) => name);
const units = readdirSync(join(root, 'ops/systemd'));

interface ComposeService {
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly network_mode?: string;
  readonly user?: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
}

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

  test('services are read-only, without capabilities, and published on loopback only', () => {
    const { services } = parse(read('ops/compose/compose.yaml')) as {
      services: Readonly<Record<string, ComposeService>>;
    };
    expect(Object.keys(services)).toEqual(['setpoint', 'forecaster', 'broker']);
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
      expect(service.ports?.filter((port) => !port.startsWith('127.0.0.1:')) ?? []).toEqual([]);
    }
    // Without capabilities a process that starts as root cannot become another user, and the broker would end.
    expect(services['broker']?.user).toBe('1883:1883');
    // decisions §4: `local` means loopback, so the forecaster shares the service's network, and not its data.
    expect(services['forecaster']?.network_mode).toBe('service:setpoint');
    expect(services['forecaster']?.volumes).toEqual(['./config/processing/tasks:/tasks:ro']);
  });

  test.each(units)('%s is confined', (name) => {
    const unit = read(`ops/systemd/${name}`);
    for (const line of [
      'NoNewPrivileges=yes',
      'ProtectSystem=strict',
      'PrivateTmp=yes',
      'CapabilityBoundingSet=',
      'Restart=always',
    ])
      expect(unit.split('\n')).toContain(line);
  });
});
