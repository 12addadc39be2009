/**
 * Splits the suites beside the code: `unit` is fast enough to run before every commit; `integration` has those that open a database,
 * use one of the servers of `src/testing/`, or start programs.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

const beside = ['src/**/*.test.ts', 'console/src/**/*.test.ts', 'tests/tidy/**/*.test.ts'];
const more = ['tests/docs/rule-reference.test.ts'];

/** Suites that open a database, of either engine. */
export const opensStorage =
  /\b(openDatabase|openRuntimeDatabase|openHistorian|openSqlite|connectPostgres|testPlaces|testSchema|testHistory|historyOn|testTrail|gatewaysOn|storageOn|storedOn)\(/;

/** Modules of `src/testing/` that serve on loopback, or bring a database with them. */
const serving = [
  'answer-server',
  'audit-attacks',
  'audit-forgery',
  'audit-trail',
  'driver-contract',
  'engines',
  'fallback-processor',
  'fault-device',
  'faulty-port',
  'gateway-enrollment',
  'histories',
  'load-fixture',
  'modbus-server',
  'mqtt-broker',
  'oidc-provider',
  'own-port',
  'postgres-server',
  'processing-gateway',
  'raw-server',
  'test-gateway',
];
const importsServing = new RegExp(`/testing/(${serving.join('|')})\\.ts'|/testing/world/`);

/** They start programs or serve devices without those modules. */
const running = ['tests/tidy/kinds.test.ts', 'tests/tidy/packaging.test.ts', 'src/devices/templates/templates.test.ts'];

const suites = beside
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .map((path) => path.replaceAll('\\', '/'))
  .toSorted();
const isIntegration = (path: string): boolean => {
  const text = readFileSync(join(root, path), 'utf8');
  return opensStorage.test(text) || importsServing.test(text) || running.includes(path);
};

export const integrationSuites: readonly string[] = suites.filter(isIntegration);
export const unitSuites: readonly string[] = [...suites.filter((path) => !isIntegration(path)), ...more];
