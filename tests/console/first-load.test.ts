/// <reference lib="dom" />
/** The size of the first load. Times are measured in the soak. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root, type TestService } from '../e2e/running-service.ts';
import { chromiumPath, installRules, launch, startDemo, visit } from './browser.ts';

const scriptBytesMax = 350_000;
/** By then a page that is shown has finished its later fetches. */
const settleMs = 2500;
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

  /** Compressed bytes of the scripts that a page fetches on its first visit: until it is shown, and in total. */
  async function scriptBytes(
    hash: string,
    ready: (page: Page) => Promise<unknown>,
  ): Promise<{ first: number; all: number }> {
    const { page, context } = await visit(browser, service, { hash: null });
    const fetched = new Set<string>();
    page.on(
      'request',
      (request) => request.resourceType() === 'script' && fetched.add(new URL(request.url()).pathname),
    );
    await page.goto(`${service.base}/#${hash}`);
    const bytes = (): number =>
      [...fetched].reduce((sum, path) => sum + statSync(join(assets, `${path.split('/').at(-1)}.gz`)).size, 0);
    await ready(page);
    const first = bytes();
    await page.waitForTimeout(settleMs);
    await context.close();
    expect(first).toBeGreaterThan(0);
    return { first, all: bytes() };
  }

  const node = (page: Page) => page.locator('[data-node="end"]').waitFor();
  const pages: [string, string, (page: Page) => Promise<unknown>][] = [
    ['the site', '/', (page) => page.getByText('Power now').waitFor()],
    ['points', '/points', (page) => page.getByRole('link', { name: 'battery soc' }).waitFor()],
    ['devices', '/devices', (page) => page.locator('[data-channel]').first().waitFor()],
    ['alarms', '/alarms', (page) => page.getByText('Changes in the last').waitFor()],
    ['an actuator', '/points/4:action:1', (page) => page.getByText('Held by, last').waitFor()],
    ['the list of rules', '/rules', (page) => page.getByRole('link', { name: 'Small' }).waitFor()],
    ['a rule', '/rules/1', node],
    ['a node of a rule', '/rules/1?panel=%22node%22', node],
    ['a trial', '/rules/1?panel=%22try%22', (page) => page.getByTestId('trial').waitFor()],
    ['the history of a rule', '/rules/1?panel=%22history%22', (page) => page.getByTestId('history').waitFor()],
    ['the revisions of a rule', '/rules/1/revisions', (page) => page.getByTestId('revision').waitFor()],
    ['the tests of a rule', '/rules/1/evidence', (page) => page.getByTestId('tests').waitFor()],
    ['the audit log', '/audit', (page) => page.getByTestId('audit-events').waitFor()],
    ['forecasts', '/forecasts', (page) => page.getByRole('heading', { name: 'Forecasts' }).waitFor()],
  ];

  test.each(pages)('the first load is under 350 kB of compressed script: %s', async (name, hash, ready) => {
    const { first, all } = await scriptBytes(hash, ready);
    const kB = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;
    process.stderr.write(`first load of ${name}: ${kB(first)} gzip, ${kB(all)} with what follows\n`);
    expect(all).toBeLessThan(scriptBytesMax);
  });
});
