/** What service.yaml may hold [platform §2.4]. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readLimits } from './config.ts';

describe('service.yaml', () => {
  let folder: string;
  beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'setpoint-config-'))));
  afterAll(() => rmSync(folder, { recursive: true }));
  const read = (text: string) => {
    writeFileSync(join(folder, 'service.yaml'), text);
    return readLimits(folder);
  };
  const sections = [
    'http',
    'automation',
    'backtest',
    'rules',
    'devices',
    'audit',
    'history',
    'storage',
    'processing',
    'alarms',
    'notify',
  ];

  test('these are its sections', () => {
    expect(() => read(sections.map((name) => `${name}: {}`).join('\n'))).not.toThrow();
    const { auditNames, ...limits } = read('');
    expect(auditNames).toEqual({});
    expect(Object.keys(limits).toSorted()).toEqual(sections.toSorted());
  });

  test.each(sections)('an unknown name in the section `%s` is refused', (name) => {
    expect(() => read(`${name}: { nothing_like_this: 1 }`)).toThrow(
      `service.yaml:1: /${name}/nothing_like_this is not a known field`,
    );
  });

  test('[platform §2.3] http.cors_origins takes 64 origins, and nothing that is not one', () => {
    const origins = (count: number) =>
      Array.from({ length: count }, (_each, index) => `https://panel-${index}.example`);
    const readOrigins = (list: readonly string[]) => read(`http: { cors_origins: ${JSON.stringify(list)} }`);
    expect(readOrigins(origins(64)).http.cors_origins).toEqual(origins(64));
    expect(() => readOrigins(origins(65))).toThrow('/http/cors_origins must have at most 64 entries');
    const longest = `https://${'x'.repeat(253)}`;
    expect(readOrigins([longest]).http.cors_origins).toEqual([longest]);
    expect(() => readOrigins([`${longest}x`])).toThrow('/http/cors_origins/0 must have at most 261 characters');
    for (const wrong of ['*', 'https://*.example', 'https://panel.example/', 'panel.example', 'null'])
      expect(() => readOrigins([wrong])).toThrow('must be an origin such as https://dashboard.example, without a path');
  });

  test('`engine_renew_ms` is at most half of `engine_lease_ms`, of which either may be the default', () => {
    expect(read('storage: { engine_renew_ms: 400 }').storage).toMatchObject({ engine_lease_ms: 800 });
    expect(read('storage: { engine_lease_ms: 300 }').storage).toMatchObject({ engine_renew_ms: 150 });
    const refusal = (renewMs: number, leaseMs: number): string =>
      `service.yaml: storage.engine_renew_ms (${renewMs}) must be at most half of engine_lease_ms (${leaseMs})`;
    expect(() => read('storage: { engine_renew_ms: 401 }')).toThrow(refusal(401, 800));
    expect(() => read('storage: { engine_lease_ms: 299 }')).toThrow(refusal(150, 299));
  });

  test('an unknown section is refused; a name that was probably meant is named, also one with its unit', () => {
    const unknown = (path: string, meant: string): string =>
      `service.yaml:1: ${path} is not a known field; did you mean ${meant}?`;
    expect(() => read('histroy: {}')).toThrow(unknown('/histroy', 'history'));
    expect(() => read('alarms: { probe_intervall_ms: 1000 }')).toThrow(
      unknown('/alarms/probe_intervall_ms', 'probe_interval_ms'),
    );
    expect(() => read('alarms: { interval: 1000 }')).toThrow(unknown('/alarms/interval', 'interval_ms'));
  });
});
