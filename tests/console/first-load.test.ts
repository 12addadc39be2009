/// <reference lib="dom" />
/** How much the first load costs. What the clock says is measured in the soak. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root, type TestService } from '../e2e/running-service.ts';
import { chromiumPath, installRules, launch, startDemo, visit } from './browser.ts';

const scriptBytesMax = 350_000;
const assets = join(root, 'console', 'dist', 'assets');

describe.runIf(chromiumPath !== undefined)('light enough', () => {
  let service: TestService;
  let browser: Browser;
  beforeAll(async () => {
    service = await startDemo();
    const start = {
      id: 'start',
      type: 'start',
      position: { x: 0, y: 0 },
      data: { config: { wires: { default: ['end'] } } },
    };
    const end = { id: 'end', type: 'end', position: { x: 200, y: 0 }, data: { config: { wires: {} } } };
    await installRules(service, [
      {
        name: 'Small',
        description: '',
        trigger_config: { type: 'interval', interval_ms: 1000 },
        flow_json: { nodes: [start, end], edges: [] },
      },
    ]);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    service?.folders.remove();
  });

  /** Compressed bytes of the scripts that a page fetches when it is opened for the first time. */
  async function scriptBytes(
    hash: string,
    ready: (page: Page) => Promise<unknown>,
  ): Promise<{ gzip: number; brotli: number }> {
    const { page, context } = await visit(browser, service);
    await page.goto('about:blank');
    const fetched = new Set<string>();
    page.on(
      'request',
      (request) => request.resourceType() === 'script' && fetched.add(new URL(request.url()).pathname),
    );
    await page.goto(`${service.base}/#${hash}`);
    await ready(page);
    await context.close();
    const bytes = (suffix: string): number =>
      [...fetched].reduce((sum, path) => sum + statSync(join(assets, `${path.split('/').at(-1)}.${suffix}`)).size, 0);
    return { gzip: bytes('gz'), brotli: bytes('br') };
  }

  test('the first load is under 350 kB of compressed script, also where it opens the editor', async () => {
    const first = await scriptBytes('/', (page) => page.getByRole('link', { name: 'Small' }).waitFor());
    const editor = await scriptBytes('/rules/1', (page) => page.locator('[data-node="end"]').waitFor());
    const kB = ({ gzip, brotli }: typeof first): string =>
      `${Math.round(gzip / 1000)} kB gzip, ${Math.round(brotli / 1000)} kB brotli`;
    process.stderr.write(`first load ${kB(first)}; of a rule ${kB(editor)}\n`);
    expect(first.gzip).toBeGreaterThan(0);
    expect(first.gzip).toBeLessThan(scriptBytesMax);
    expect(editor.brotli).toBeLessThan(scriptBytesMax);
  });
});
