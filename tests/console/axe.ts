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

interface Tool {
  run(options: object): Promise<{ violations: Violation[] }>;
}

/** Selectors and passed results would take most of the time; the HTML of an element identifies it well enough. */
const options = { resultTypes: ['violations'], selectors: false };

/** Violations that axe rates serious or critical, with the first elements. */
export async function violations(page: Page): Promise<string[]> {
  // As a script of the test, which the page's content policy would refuse.
  await page.evaluate(axe);
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
