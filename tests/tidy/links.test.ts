/** Every relative link of every document leads to a file, and to one of its headings where it names one. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { repositoryFiles } from './sources.ts';

const root = join(import.meta.dirname, '..', '..');
const documents = repositoryFiles().filter(({ path }) => path.endsWith('.md'));

/** As the common Markdown hosts name them. */
function anchors(file: string): string[] {
  return Array.from(readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test.each(documents.filter(({ path }) => !path.startsWith('CHANGELOG')).map(({ path, text }) => [path, text] as const))(
  'every path of the sources that %s names exists',
  (_, text) => {
    const named = Array.from(
      text.matchAll(/`((?:src|console\/src|tests|bench|docs|setup)\/[\w./-]*)`/g),
      ([, path = '']) => path,
    );
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  },
);

test('documents were found', () => {
  expect(documents.length).toBeGreaterThan(8);
});

test.each(documents.map(({ path }) => path))('%s', (path) => {
  const file = join(root, path);
  const text = readFileSync(file, 'utf8').replaceAll(/^```[^]*?^```/gm, '');
  const broken = Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => {
      const [name = '', anchor] = target.split('#');
      const linked = name === '' ? file : join(dirname(file), name);
      if (!existsSync(linked) || relative(root, linked).startsWith('..')) return true;
      return anchor !== undefined && !anchors(linked).includes(anchor);
    });
  expect(broken).toEqual([]);
});
