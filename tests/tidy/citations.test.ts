/** Every citation, such as `[rules §2.2]`, names a section of `docs/contract/` that exists. */
import { describe, expect, test } from 'vitest';
import { repositoryFiles, type SourceFile } from './sources.ts';

const all = repositoryFiles();
const pageOf = (path: string): string | undefined => /^docs\/contract\/(.+)\.md$/.exec(path)?.[1];

/** Sections by page: the numbers with which its headings begin. */
const sections = new Map(
  all.flatMap(({ path, text }) => {
    const page = pageOf(path);
    if (page === undefined || page === 'README') return [];
    return [[page, Array.from(text.matchAll(/^#{2,4} (\d+(?:\.\d+)*)\.? /gm), ([, number = '']) => number)] as const];
  }),
);

/** Sections of other documents, preceded by the document's name. */
const elsewhere = /\b(RFC \d+|ISA-[\d.]+) §[\d.]+\d( and §[\d.]+\d)?/g;
const citation = /\[([a-z-]+) §(\d+(?:\.\d+)*)\]/g;

function faults({ path, text }: SourceFile): string[] {
  return text.split('\n').flatMap((line, index) => {
    const place = `${path}:${index + 1}`;
    const unknown = Array.from(line.matchAll(citation))
      .filter(([, page = '', number = '']) => sections.get(page)?.includes(number) !== true)
      .map(([text]) => `${place}: ${text} does not exist`);
    const rest = line.replaceAll(citation, '').replaceAll(elsewhere, '');
    // A page of the contract cites its own sections without its name.
    if (pageOf(path) !== undefined) {
      const own = sections.get(pageOf(path) ?? '') ?? [];
      const missing = Array.from(rest.matchAll(/§(\d+(?:\.\d+)*)/g)).filter(([, number = '']) => !own.includes(number));
      return [...unknown, ...missing.map(([text]) => `${place}: ${text} does not exist`)];
    }
    return /§ ?\d/.test(rest) ? [...unknown, `${place}: a section without its page, as in [rules §2.2]`] : unknown;
  });
}

describe('the contract', () => {
  test('its pages were found, each section numbered once', () => {
    expect([...sections.keys()].toSorted()).toEqual(
      ['alarms', 'audit', 'data-processing', 'identity', 'platform', 'points', 'processor', 'rules'].toSorted(),
    );
    for (const [page, numbers] of sections) expect([page, new Set(numbers).size]).toEqual([page, numbers.length]);
  });

  test('every citation names a section that exists, and its page', () => {
    const readable = all.filter(({ path }) => /\.(tsx?|mjs|cjs|md|yaml|json|patch)$/.test(path));
    const cited = readable.filter(
      ({ path }) => path !== 'tests/tidy/citations.test.ts' && path !== 'docs/contract/README.md',
    );
    expect(cited.flatMap(faults)).toEqual([]);
    expect(cited.filter(({ text }) => text.search(citation) >= 0).length).toBeGreaterThan(400);
  });
});
