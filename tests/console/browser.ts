/// <reference lib="dom" />
/** A real Chromium and a real service with the demo's configuration, for the tests of the console. */
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { onTestFailed, onTestFinished } from 'vitest';
import { root, startTestService, type TestFolders, type TestService, testFolders } from '../e2e/running-service.ts';

const candidates = [
  process.env['CHROMIUM'],
  // The same engine without a window, which uses less processor time.
  '/usr/lib/chromium/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Where Chromium is; undefined on a machine that has none. */
export const chromiumPath = candidates.find((path) => path !== undefined && existsSync(path));

export const demoFolder = join(root, 'config', 'demo');

export async function launch(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('there is no Chromium');
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** Folders with a copy of the demo's site, without its rules: tests create those themselves. */
export function demoFolders(): TestFolders {
  const folders = testFolders(readFileSync(join(demoFolder, 'site.yaml'), 'utf8'));
  cpSync(join(demoFolder, 'series'), join(folders.config, 'series'), { recursive: true });
  return folders;
}

export function startDemo(folders = demoFolders(), more: Readonly<Record<string, string>> = {}): Promise<TestService> {
  return startTestService(folders, more);
}

interface FileRule {
  readonly name: string;
  readonly description: string;
  readonly [field: string]: unknown;
}

export function demoRules(): FileRule[] {
  return readdirSync(join(demoFolder, 'rules'))
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .flatMap((name) => {
      const file = JSON.parse(readFileSync(join(demoFolder, 'rules', name), 'utf8')) as { rules: FileRule[] };
      return file.rules;
    });
}

/** Creates, fills and enables the rules; their ids in order. */
export async function installRules(service: TestService, rules: readonly FileRule[] = demoRules()): Promise<number[]> {
  const ids: number[] = [];
  for (const { name, description, ...content } of rules) {
    const made = await service.command('POST', '/rules', { name, description });
    const id = Number(made.body['data']?.['id']);
    const stored = await service.command('PUT', `/rules/${id}`, content);
    if (stored.status !== 200) throw new Error(`${name}: ${stored.text}`);
    await service.command('POST', `/rules/${id}/enable`);
    ids.push(id);
  }
  return ids;
}

export interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Console messages and errors of the page; violations of its content policy show here. */
  readonly complaints: string[];
}

export async function visit(
  browser: Browser,
  service: TestService,
  options: {
    width?: number;
    height?: number;
    role?: 'Admin' | 'Engineer' | 'Viewer' | null;
    locale?: string;
    /** The console address to open; null opens nothing. */
    hash?: string | null;
  } = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
    colorScheme: 'light',
    locale: options.locale ?? 'en-GB',
    timezoneId: 'Europe/Amsterdam',
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // Where data processing is off its routes answer 404, which browsers log as an error.
    if (message.location().url.includes('/data-processing/tasks')) return;
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  // The console message names neither the request nor the reason.
  const failures: string[] = [];
  page.on('response', async (response) => {
    if (response.status() < 500) return;
    const text = await response.text().catch(() => '');
    failures.push(`${response.status()} ${response.request().method()} ${response.url()} ${text}`);
  });
  const thrown: string[] = [];
  page.on('pageerror', (error) => {
    complaints.push(String(error));
    thrown.push(error.stack ?? String(error));
  });
  page.setDefaultTimeout(30_000);
  // The content of the screen tells more than the failed locator.
  if (process.env['VITEST'] !== undefined) {
    onTestFinished(() => {
      if (thrown.length > 0) throw new Error(`the page threw ${thrown.join('\n')}`);
    });
    onTestFailed(async ({ task }) => {
      const file = join(tmpdir(), `setpoint-${task.name.replaceAll(/[^a-z0-9]+/gi, '-').slice(0, 60)}.png`);
      await page.screenshot({ path: file }).catch(() => undefined);
      process.stderr.write(`the page as it was: ${file}\n${[...complaints, ...failures].join('\n')}\n`);
    });
  }
  if (options.role !== null) {
    const token = await service.token(options.role ?? 'Admin');
    await context.addInitScript((given) => {
      if (location.protocol === 'http:') sessionStorage.setItem('setpoint.token', given);
    }, token);
  }
  if (options.hash !== null) await page.goto(`${service.base}/#${options.hash ?? '/rules'}`);
  return { context, page, complaints };
}
