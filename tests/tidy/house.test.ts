/** The rules of STYLE.md that can be checked by machine. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { settingNames } from '../../src/bin/environment.ts';
import { productFiles, repositoryFiles, type SourceFile } from './sources.ts';

/** `path:line` of every line that matches, in files that `included` accepts. */
function places(
  files: readonly SourceFile[],
  pattern: RegExp,
  included: (path: string) => boolean = () => true,
): string[] {
  return files
    .filter((file) => included(file.path))
    .flatMap((file) =>
      file.text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${file.path}:${index + 1}`] : [])),
    );
}

const code = (path: string): boolean => /\.(tsx?|mjs)$/.test(path) && !path.startsWith('tests/tidy/');

describe('the house', () => {
  const product = productFiles();
  const all = repositoryFiles();

  test('the product was read', () => {
    expect(product.length).toBeGreaterThan(10);
  });

  test('time and randomness have one door each', () => {
    const pattern =
      /\b(Date\.now\b|new Date\(\)|performance\.now\b|process\.hrtime\b|setTimeout\(|setInterval\(|setImmediate\(|Math\.random\b|randomUUID\b|randomBytes\b)/;
    const doors = ['src/base/clock.ts', 'src/base/id.ts', 'console/src/clock.ts'];
    const inside = (path: string): boolean => !doors.includes(path);
    expect(places(product, new RegExp(`^(?!\\s*(\\*|//)).*${pattern.source}`), inside)).toEqual([]);
  });

  test('what is too old to keep is decided by the retention clock [platform §1.4]', () => {
    expect(places(product, / - .*(_days|\bretentionDays)\b/)).toHaveLength(6);
    expect(places(product, /retention\.nowMs\(\) - .*(_days|\bretentionDays)\b/)).toHaveLength(6);
  });

  test('a schema is derived from another one in one place: TypeBox drops what else it says, such as that it is strict', () => {
    const inside = (path: string): boolean => path !== 'src/bin/config.ts';
    expect(places(all, /\bType\.(Partial|Pick|Omit|Required|Composite|Mapped|Evaluate)\(/, inside)).toEqual([]);
  });

  test('every variable that the product reads is a known setting, or the secret of a channel in an example', () => {
    const read = new Set(
      product.flatMap(({ text }) => [...text.matchAll(/\bSVC_[A-Z_]*[A-Z]\b/g)].map(([name]) => name)),
    );
    const known: readonly string[] = settingNames;
    expect([...read].filter((name) => !known.includes(name) && !name.startsWith('SVC_MQTT_'))).toEqual([]);
  });

  test('environment, signals and exit belong to src/bin; errors that nobody caught have one door', () => {
    const inside = (path: string): boolean => !path.startsWith('src/bin/') && path !== 'src/base/isolation.ts';
    expect(places(product, /\bprocess\.(env|exit|on|once|kill)\b/, inside)).toEqual([]);
  });

  test('no left-overs in source', () => {
    expect(places(all, /\b(TODO|FIXME|XXX)\b|@ts-(ignore|nocheck|expect-error)|\.(only|skip)\(/, code)).toEqual([]);
  });

  test('no regular expression is a member of toMatchObject, which accepts any value for it', () => {
    const test = (path: string): boolean => path.endsWith('.test.ts');
    expect(places(all, /toMatchObject\(.*[:[,] ?\/(?![/*])[^']*$/, test)).toEqual([]);
  });

  test('no enum, namespace or any in source', () => {
    expect(
      places(product, /^(?!\s*(\/?\*|\/\/)).*(^\s*(export\s+)?(const\s+)?(enum|namespace)\s|:\s*any[,;)\s=]|as any\b)/),
    ).toEqual([]);
  });

  test('file names describe their content', () => {
    const vague = /(^|\/)(types|utils?|helpers?|common|managers?|misc|impl)\.ts$/;
    expect(product.filter((file) => vague.test(file.path)).map((file) => file.path)).toEqual([]);
  });

  test('one exported name means one thing', () => {
    const places = new Map<string, Set<string>>();
    // Every language says the same things under the same names.
    const languages = /console\/src\/strings\/(?!en\/)\w+\//;
    for (const { path, text } of product.filter((file) => !languages.test(file.path)))
      for (const [, name = ''] of text.matchAll(
        /^export (?:async )?(?:function\*?|const|class|interface|type|let) (\w+)/gm,
      ))
        places.set(name, (places.get(name) ?? new Set()).add(path));
    const doubled = [...places].filter(([, files]) => files.size > 1);
    expect(doubled.map(([name, files]) => `${name}: ${[...files].join(', ')}`)).toEqual([]);
  });

  test('index.ts exists only in registries', () => {
    const indexes = product.filter((file) => file.path.endsWith('/index.ts'));
    const lonely = indexes.filter(
      (file) => product.filter((other) => dirname(other.path) === dirname(file.path)).length < 3,
    );
    expect(lonely.map((file) => file.path)).toEqual([]);
  });

  test('source files stay under 450 lines and begin with a description', () => {
    expect(product.filter((file) => file.text.split('\n').length > 450).map((file) => file.path)).toEqual([]);
    expect(product.filter((file) => !/^(#!.*\n)?\/\*\*/.test(file.text)).map((file) => file.path)).toEqual([]);
  });

  test('no path of a machine and no registry host is named', () => {
    const outside = (path: string): boolean => !path.startsWith('tests/tidy/');
    expect(places(all, /(^|[^A-Za-z0-9_.])\/(work|farm|root)\//, outside)).toEqual([]);
    expect(places(all, /registry\.npmjs\.org|deb\.debian\.org/, outside)).toEqual([]);
    expect(readFileSync('package-lock.json', 'utf8')).not.toMatch(/"resolved":/);
  });

  test('links between documents lead somewhere', () => {
    const broken = all
      .filter((file) => file.path.endsWith('.md'))
      .flatMap((file) =>
        [...file.text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)]
          .map((match) => match[1] ?? '')
          .filter((target) => !existsSync(join(dirname(file.path), target)))
          .map((target) => `${file.path} -> ${target}`),
      );
    expect(broken).toEqual([]);
  });
});
