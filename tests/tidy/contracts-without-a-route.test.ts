/** No route reaches an application contract [platform §6]. The import order ensures that no import does. */
import { readdirSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Capability } from '../../src/api/capability.ts';
import type { ApplicationContract } from '../../src/platform/application-contract.ts';
import { healthCapability } from '../../src/platform/health.ts';
import { productFiles, repositoryFiles } from './sources.ts';

/** Everything that the modules export, and the members of exported objects. */
async function exportedBy(paths: readonly string[]): Promise<object[]> {
  const modules = await Promise.all(paths.map((path) => import(`../../${path}`) as Promise<object>));
  const values = modules.flatMap((module): unknown[] => Object.values(module));
  const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
  const objects = values.filter(isObject);
  return [...objects, ...objects.flatMap((value): unknown[] => Object.values(value)).filter(isObject)];
}

const isCapability = (value: object): value is Capability => 'method' in value && 'path' in value && 'name' in value;
const isContract = (value: object): value is ApplicationContract => 'subjectKind' in value && 'idempotency' in value;

describe('application contracts without a route', () => {
  let routed: Capability[];
  let contracts: ApplicationContract[];
  beforeAll(async () => {
    const api = readdirSync('src/api').filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    const exported = await exportedBy(api.map((name) => `src/api/${name}`));
    routed = [...exported.filter(isCapability), healthCapability('0.0.0').descriptor];
    const descriptors = productFiles().filter(({ path }) => /^src\/platform\/[a-z-]+\/contracts?\.ts$/.test(path));
    contracts = (await exportedBy(descriptors.map(({ path }) => path))).filter(isContract);
  });

  test('both kinds of descriptors were read', () => {
    expect(routed.length).toBeGreaterThan(10);
    expect(contracts.map(({ name }) => name).toSorted()).toEqual([
      'cloud_connection.region.discover',
      'fleet.gateway.create',
      'fleet.gateway.enrollment.consume',
      'fleet.gateway.enrollment.issue',
      'fleet.gateway.enrollment.read',
      'infrastructure.stack.plan',
    ]);
  });

  test('[platform §6] no routed capability has the name or the permission of a contract, and no contract has a path', () => {
    const taken = new Set(contracts.flatMap(({ name, permission }) => [name, permission ?? name]));
    expect(routed.filter(({ name, permission }) => taken.has(name) || taken.has(permission ?? ''))).toEqual([]);
    expect(contracts.filter((contract) => 'path' in contract || 'method' in contract)).toEqual([]);
  });

  test('[platform §5] fleet, provider discovery and deployment have no path', () => {
    const families = /fleet|enroll|gateways?\b|cloud|connections?\b|regions?\b|stacks?\b|provider|infrastructure/;
    expect(routed.map(({ path }) => path).filter((path) => families.test(path))).toEqual([]);
  });

  test('[platform §5] no endpoint accepts a module, topology, plan artifact, apply request or enrollment token', () => {
    const refused = /"(module|topology|planArtifact|plan_artifact|apply|enrollmentToken|enrollment_token)"/;
    expect(routed.filter(({ body, query, params }) => refused.test(JSON.stringify([body, query, params])))).toEqual([]);
  });

  test('[platform §6] neither gateway, api nor bin names a contract or its permission', () => {
    const words = contracts.flatMap(({ name, permission }) => [name, permission ?? name]);
    const naming = repositoryFiles()
      .filter(({ path }) => /^src\/(gateway|api|bin|cli|mcp)\//.test(path))
      .filter(({ text }) => words.some((word) => text.includes(word)));
    expect(naming.map(({ path }) => path)).toEqual([]);
  });
});
