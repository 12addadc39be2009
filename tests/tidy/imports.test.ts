/** The import order of ARCHITECTURE.md, enforced by a test that also checks that the modules were read at all. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { repositoryFiles } from './sources.ts';

interface Cruise {
  readonly modules: readonly {
    readonly source: string;
    readonly dependencies: readonly {
      readonly resolved: string;
      readonly module: string;
      readonly dependencyTypes: readonly string[];
    }[];
  }[];
  readonly summary: {
    readonly violations: readonly {
      readonly rule: { readonly name: string };
      readonly from: string;
      readonly to: string;
    }[];
  };
}

/** Libraries that are a language of their own; every other one is imported by one file or one folder. */
const everywhere = new Set(['typebox', 'kysely', 'vitest', 'fast-check']);

function cruise(): Cruise {
  const args = [
    'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs',
    '--config',
    '.dependency-cruiser.mjs',
    'src',
    'console/src',
    '-T',
    'json',
  ];
  try {
    return JSON.parse(execFileSync('node', args, { encoding: 'utf8', maxBuffer: 1e8 })) as Cruise;
  } catch (error) {
    // The tool exits with the number of violations; its report is on standard output either way.
    if (error instanceof Error && 'stdout' in error && typeof error.stdout === 'string')
      return JSON.parse(error.stdout) as Cruise;
    throw error;
  }
}

describe('import order', () => {
  let result: Cruise;
  beforeAll(() => {
    result = cruise();
  }, 60_000);

  /** Every file that is loaded with these, themselves included. */
  function loaded(entries: readonly string[]): Set<string> {
    const modules = new Map(result.modules.map((module) => [module.source, module]));
    const seen = new Set(entries);
    for (const source of seen)
      for (const { resolved, dependencyTypes } of modules.get(source)?.dependencies ?? [])
        if (!dependencyTypes.includes('type-only')) seen.add(resolved);
    return seen;
  }

  test('every source file was read, with its imports', () => {
    const read = new Set(result.modules.map((module) => module.source));
    const sources = repositoryFiles().filter((file) => /^(src|console\/src)\/.*\.tsx?$/.test(file.path));
    expect(sources.filter((file) => !read.has(file.path))).toEqual([]);
    for (const file of sources.filter((source) => /^import .* from '\.{1,2}\//m.test(source.text))) {
      const module = result.modules.find((candidate) => candidate.source === file.path);
      expect(module?.dependencies.length, file.path).toBeGreaterThan(0);
    }
  });

  test('every folder of src has a place in the order, a line in ARCHITECTURE.md, and is in the map of the README', () => {
    const folders = new Set(repositoryFiles().flatMap(({ path }) => /^src\/([^/]+)\//.exec(path)?.[1] ?? []));
    const map = readFileSync('ARCHITECTURE.md', 'utf8');
    expect([...folders].filter((folder) => !map.includes(`| \`src/${folder}/\` |`))).toEqual([]);
    const sourceMap = readFileSync('README.md', 'utf8');
    expect([...folders].filter((folder) => !sourceMap.includes(`\`src/${folder}/\``))).toEqual([]);
    // The wiring may import everything; only tests import src/testing.
    const unbound = [...folders].filter((folder) => !['bin', 'testing'].includes(folder));
    const order = readFileSync('.dependency-cruiser.mjs', 'utf8');
    const ordered = (folder: string): boolean => new RegExp(`^  '?${folder}'?: \\[`, 'm').test(order);
    expect(unbound.filter((folder) => !ordered(folder))).toEqual([]);
  });

  test('no rule is broken', () => {
    const broken = result.summary.violations.map(
      (violation) => `${violation.rule.name}: ${violation.from} -> ${violation.to}`,
    );
    expect(broken).toEqual([]);
  });

  test('each third-party library is imported by one file or one folder', () => {
    const importers = new Map<string, Set<string>>();
    for (const module of result.modules) {
      if (
        !module.source.startsWith('src/') ||
        module.source.endsWith('.test.ts') ||
        module.source.startsWith('src/testing/')
      )
        continue;
      for (const dependency of module.dependencies) {
        if (!dependency.dependencyTypes.some((type) => type.startsWith('npm'))) continue;
        const library = dependency.module
          .split('/')
          .slice(0, dependency.module.startsWith('@') ? 2 : 1)
          .join('/');
        if (everywhere.has(library)) continue;
        const folder = module.source.split('/').slice(0, 2).join('/');
        importers.set(library, (importers.get(library) ?? new Set()).add(folder));
      }
    }
    const wide = [...importers]
      .filter(([, folders]) => folders.size > 1)
      .map(([library, folders]) => `${library}: ${[...folders].join(', ')}`);
    expect(wide).toEqual([]);
  });

  test("what the console loads builds its schemas without the library's language of types, which weighs as much as a page", () => {
    const plain = new Set(
      'Array Boolean Enum Integer Literal Null Number Object Optional String Undefined Union Unknown Unsafe'.split(' '),
    );
    const inConsole = loaded(['console/src/main.tsx']);
    const built = repositoryFiles()
      .filter(({ path }) => inConsole.has(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/\bType\.([A-Z]\w*)\(/g)].map(([, builder = '']) => ({ path, builder })),
      );
    expect(built.length).toBeGreaterThan(100);
    expect(built.filter(({ builder }) => !plain.has(builder))).toEqual([]);
  });

  test('worker threads do not load the schema and YAML libraries', () => {
    const threads = result.modules.map(({ source }) => source).filter((source) => /^src\/.*-thread\.ts$/.test(source));
    expect(threads.length).toBeGreaterThan(4);
    const heavy = threads.flatMap((thread) =>
      [...loaded([thread])].filter((file) => /node_modules\/(typebox|yaml)\//.test(file)).map((file) => [thread, file]),
    );
    expect(heavy).toEqual([]);
  });
});
