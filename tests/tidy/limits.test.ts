/** Every limit of service.yaml is held by a test that names it: at its edge a wrong comparison shows. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { productFiles, repositoryFiles } from './sources.ts';

const root = join(import.meta.dirname, '..', '..');

test('house: each limit of service.yaml is named by a test', async () => {
  const tests = repositoryFiles().filter(({ path }) => path.endsWith('.test.ts'));
  const words = new Set(tests.flatMap(({ text }) => text.match(/\w+/g) ?? []));
  const limits: string[] = [];
  for (const { path } of productFiles().filter(({ text }) => /^export const \w+LimitsSchema = /m.test(text))) {
    const exported: Readonly<Record<string, { readonly properties?: object }>> = await import(join(root, path));
    for (const schema of Object.values(exported)) limits.push(...Object.keys(schema.properties ?? {}));
  }
  expect(limits.length).toBeGreaterThan(150);
  expect(limits.filter((limit) => !words.has(limit))).toEqual([]);
});
