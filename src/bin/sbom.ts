#!/usr/bin/env node
/**
 * `npm run sbom`: of npm's list of everything that is installed, on standard input, what ships: the packages that the service
 * runs and those that the console's files are built from, which npm knows as packages for development. With what each needs, and the
 * Node that all of it runs on, with the digest that an installation compares it with.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as Type from 'typebox';
import { decodeOrRefuse } from '../base/decode.ts';
import { isForOperator, StartError } from './start-error.ts';

const root = join(import.meta.dirname, '..', '..');

/** The part of CycloneDX that is changed here; everything else stays as npm writes it. */
const bill = Type.Object({
  metadata: Type.Object({ component: Type.Object({ 'bom-ref': Type.String(), name: Type.String() }) }),
  components: Type.Array(
    Type.Object({
      'bom-ref': Type.String(),
      name: Type.String(),
      licenses: Type.Optional(Type.Array(Type.Unknown())),
      properties: Type.Optional(Type.Array(Type.Object({ name: Type.String() }))),
    }),
  ),
  dependencies: Type.Array(Type.Object({ ref: Type.String(), dependsOn: Type.Array(Type.String()) })),
});
const decodeBill = decodeOrRefuse(bill, 'the list of npm');
const decodePackage = decodeOrRefuse(
  Type.Object({
    name: Type.String(),
    dependencies: Type.Record(Type.String(), Type.String()),
    peerDependencies: Type.Record(Type.String(), Type.String()),
  }),
  'package.json',
);

const decodeBinaries = decodeOrRefuse(
  Type.Object({ version: Type.String(), sha256: Type.Record(Type.String(), Type.String()) }),
  'setup/node-binaries.json',
);

/** Packages that have the text of their licence but not its name. */
const licences: Readonly<Record<string, string>> = { suncalc: 'BSD-2-Clause' };
const development = 'cdx:npm:package:development';

/** The packages that the console's sources name. */
function consolePackages(): string[] {
  const folder = join(root, 'console', 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const sources = files.filter((path) => /(?<!\.test)\.tsx?$/.test(path));
  return sources.flatMap((path) =>
    Array.from(
      readFileSync(join(folder, path), 'utf8').matchAll(
        /^(?:import|export|\})[^'\n]*'((?:@[^/'\n]+\/)?[^./'\n][^/'\n]*)[^'\n]*';$/gm,
      ),
      ([, name = '']) => name,
    ),
  );
}

/** Node itself, one component a platform whose binary is pinned. */
function nodeBinaries(): Type.Static<typeof bill>['components'] {
  const file = join(root, 'setup', 'node-binaries.json');
  const { version, sha256 } = decodeBinaries(JSON.parse(readFileSync(file, 'utf8')));
  return Object.entries(sha256).map(([platform, content]) => ({
    type: 'platform',
    'bom-ref': `node-${platform}@${version}`,
    name: 'node',
    version,
    description: `the binary for ${platform}`,
    purl: `pkg:generic/node@${version}?platform=${platform}`,
    hashes: [{ alg: 'SHA-256', content }],
    licenses: [{ license: { id: 'MIT' } }],
    properties: [],
  }));
}

function shipped(all: Type.Static<typeof bill>): Type.Static<typeof bill> {
  const own = decodePackage(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  const { name, dependencies, peerDependencies } = own;
  const named = new Set([dependencies, peerDependencies].flatMap(Object.keys).concat(consolePackages()));
  const needs = new Map(all.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const product = all.metadata.component['bom-ref'];
  const direct = (needs.get(product) ?? []).filter((ref) => named.has(ref.slice(0, ref.lastIndexOf('@'))));
  const kept = new Set(direct);
  // A set is walked to its end, what is added on the way included.
  for (const ref of kept) for (const needed of needs.get(ref) ?? []) kept.add(needed);
  return {
    ...all,
    // npm calls it by the folder that it is in.
    metadata: { ...all.metadata, component: { ...all.metadata.component, name } },
    components: [
      ...all.components
        .filter((component) => kept.has(component['bom-ref']))
        .map(({ properties = [], ...component }) => ({
          ...component,
          ...(component.licenses === undefined && licences[component.name] !== undefined
            ? { licenses: [{ license: { id: licences[component.name] } }] }
            : {}),
          properties: properties.filter((property) => property.name !== development),
        })),
      ...nodeBinaries(),
    ],
    dependencies: all.dependencies
      .filter(({ ref }) => ref === product || kept.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: ref === product ? direct : dependsOn })),
  };
}

try {
  const given = await text(process.stdin);
  // npm has said why.
  if (given === '') throw new StartError('npm sbom printed no packages');
  process.stdout.write(`${JSON.stringify(shipped(decodeBill(JSON.parse(given))), null, 2)}\n`);
} catch (error) {
  if (!isForOperator(error)) throw error;
  process.stderr.write(`setpoint: ${error.message}\n`);
  process.exitCode = 1;
}
