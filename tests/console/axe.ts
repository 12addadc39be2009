/// <reference lib="dom" />
/** Accessibility of a page as axe sees it. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

interface Options {
  readonly resultTypes: readonly string[];
  readonly selectors: boolean;
  readonly runOnly?: { readonly type: 'rule'; readonly values: readonly string[] };
}

interface Tool {
  run(options: Options): Promise<{ violations: Violation[] }>;
}

/** The rules whose result depends on colours: what to ask again after a change of the colour scheme and nothing else. */
const ofColours = ['color-contrast', 'link-in-text-block'];

/** What axe finds of level serious or critical, with the first places; of `colours`, by the rules about them. */
export async function violations(page: Page, what: 'everything' | 'colours' = 'everything'): Promise<string[]> {
  // As a script of the test, past the policy of the page.
  await page.evaluate(axe);
  // The places are told by their text: selectors, and what passed, would take most of the time.
  const options: Options = {
    resultTypes: ['violations'],
    selectors: false,
    ...(what === 'colours' ? { runOnly: { type: 'rule', values: ofColours } } : {}),
  };
  const found = await page.evaluate(async (given) => {
    const { axe: tool } = globalThis as unknown as { axe: Tool };
    return (await tool.run(given)).violations;
  }, options);
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, impact, nodes }) =>
        `${impact} ${id}: ${nodes
          .slice(0, 3)
          .map(({ html }) => html.slice(0, 160))
          .join(' | ')}`,
    );
}
