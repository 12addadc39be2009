/// <reference lib="dom" />
/** Lists that are longer than any screen, in a real Chromium: hundreds of rules, alarms, actuators and points. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  editorFlow,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestService,
  testFolders,
} from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, launch, visit } from './browser.ts';

const feeders = 130;
const rules = 260;

const instance = (id: number): string => `  - id: ${id}
    name: feeder ${id}
    points:
      - { id: 1, name: power, kind: measurement, unit: kW, channel: derived }
      - { id: 1, name: setpoint, kind: action, unit: kW, channel: derived }
`;
const site = `schema: svc.site.v1
site: { id: large, name: Large, timezone: Europe/Amsterdam }
channels: [{ id: derived, driver: virtual }]
instances:
${Array.from({ length: feeders }, (_, index) => instance(index + 1)).join('')}`;

describe.skipIf(chromiumPath === undefined)('a large site', () => {
  let service: TestService;
  let browser: Browser;
  beforeAll(async () => {
    const folders = testFolders(site);
    // Fewer than the rules: a page that subscribed to every rule would receive none.
    const limits = 'stream_channels: 150';
    folders.write('service.yaml', `automation: { ${limits} }\nhttp: { mutations_per_minute: 10000 }\n`);
    service = await startTestService(folders);
    const list = Array.from({ length: rules }, (_, index) => ({
      name: `Rule ${String(index + 1).padStart(3, '0')}`,
      trigger_config: { type: 'interval', interval_ms: 1000 },
      flow_json: editorFlow(),
    }));
    const file = join(folders.config, 'rules.json');
    writeFileSync(file, JSON.stringify({ schema: 'svc.rules.v1', rules: list }));
    const imported = runCommand('setpoint', ['rules', 'import', file, '--confirmed'], serviceEnvironment(folders));
    if (imported.status !== 0) throw new Error(imported.stderr);
    for (let id = 1; id <= rules; id++) {
      const { status, text } = await service.command('POST', `/rules/${id}/enable`);
      if (status !== 200) throw new Error(text);
    }
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    service?.folders.remove();
  });

  const drawn = (page: Page, row: string): Promise<number> => page.locator(`tr[data-${row}]`).count();

  test('the list of rules draws the rows in view, follows their runs, and goes through all by keyboard', async () => {
    const { page, context, complaints } = await visit(browser, service);
    await page.getByRole('link', { name: 'Rule 001' }).waitFor();
    expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe(String(rules + 1));
    expect(await drawn(page, 'rule')).toBeLessThan(60);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Rule 001' }).focus();
    const press = (key: string, times: number): Promise<void> =>
      page.evaluate(
        ([name, count]) => {
          // Faster than any row is drawn.
          for (let pressed = 0; pressed < count; pressed++)
            document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
        },
        [key, times] as const,
      );
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await press('ArrowDown', 79);
    await expect.poll(focused).toBe('Rule 080');
    for (let row = 81; row <= 90; row++) await page.keyboard.press('ArrowDown');
    await expect.poll(focused).toBe('Rule 090');
    await press('ArrowUp', 400);
    await expect.poll(focused).toBe('Rule 001');
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    await page.getByRole('link', { name: `Rule ${rules}` }).waitFor();
    expect(await drawn(page, 'rule')).toBeLessThan(60);
    // The stream keeps the row current: the list itself is polled.
    const newest = page.locator(`tr[data-rule="${rules}"] time`).first();
    const before = await newest.getAttribute('datetime');
    await expect.poll(() => newest.getAttribute('datetime')).not.toBe(before);
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a choice among all points offers some, counts the others, and finds each by its words', async () => {
    const { page, context, complaints } = await visit(browser, service);
    await page.getByRole('combobox', { name: 'Uses point' }).click();
    await page.getByRole('option', { name: '160 more: type to narrow down' }).waitFor();
    expect(await page.getByRole('option').count()).toBe(101);
    await page.getByRole('combobox', { name: 'Uses point' }).fill('130 set');
    await page.getByRole('option', { name: 'feeder 130 · setpoint' }).click();
    await page.getByText(/No rule/).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Commands' }).fill('feeder 77 power');
    await page.getByRole('option', { name: 'feeder 77 power' }).click();
    await page.getByRole('heading', { name: /feeder 77/ }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('the first page shows a part of each list, and leads to the rest of it', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: '/' });
    await page.getByRole('link', { name: `${feeders - 12} more flows` }).waitFor();
    await page.getByRole('link', { name: `${rules - 8} more rules need attention` }).click();
    await page.getByText(`${rules} need attention`).waitFor();
    expect(await page.getByRole('radio', { name: 'Needs attention' }).isChecked()).toBe(true);
    await page.goBack();
    await page.getByRole('link', { name: `${feeders - 20} more actuators` }).click();
    await page.getByText(`${feeders} of ${2 * feeders} points`).waitFor();
    expect(await page.getByRole('radio', { name: 'Actuators' }).isChecked()).toBe(true);
    expect(await drawn(page, 'point')).toBeLessThan(60);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a flood of alarms is drawn as far as it is in view, on a phone too', async () => {
    const open = async (): Promise<unknown> => (await service.read('/alarms')).body['data']?.['list']?.['length'];
    // A rule has to be skipped for a while.
    await expect.poll(open, { timeout: 90_000 }).toBe(rules);
    for (const width of [1440, 390]) {
      const { page, context, complaints } = await visit(browser, service, { width, hash: '/alarms' });
      await page.getByText(`${rules} alarms are active`, { exact: false }).waitFor();
      expect(await drawn(page, 'alarm')).toBeLessThan(60);
      const last = page.locator(`tr[aria-rowindex="${rules + 1}"]`);
      // The height of rows is known only once they are drawn: a jump may need several tries.
      await expect
        .poll(async () => {
          await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
          return last.count();
        })
        .toBe(1);
      expect(await drawn(page, 'alarm')).toBeLessThan(60);
      expect(complaints).toEqual([]);
      await context.close();
    }
  });

  test('on paper a long list is whole, light, and has the times themselves', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: '/alarms' });
    await page.emulateMedia({ colorScheme: 'dark' });
    const first = page.locator('tr[data-alarm] time').first();
    await first.waitFor();
    expect(await first.textContent()).toMatch(/now|ago/);
    await page.evaluate(() => {
      // After those of the page.
      addEventListener('beforeprint', () => {
        const { mantineColorScheme: scheme } = document.documentElement.dataset;
        const times = [...document.querySelectorAll('tr[data-alarm] time')].map(({ textContent }) => textContent);
        Object.assign(window, { printed: { scheme, times } });
      });
    });
    await page.pdf();
    type Printed = { readonly printed: { readonly scheme: string; readonly times: readonly string[] } };
    const { scheme, times } = await page.evaluate(() => (window as unknown as Printed).printed);
    expect(scheme).toBe('light');
    expect(times).toHaveLength(rules);
    expect(times.filter((time) => !/\d\d:\d\d:\d\d$/.test(time))).toEqual([]);
    await expect.poll(() => drawn(page, 'alarm')).toBeLessThan(60);
    expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('dark');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('all alarms of a flood are acknowledged at once, which a viewer may not', async () => {
    const viewer = await visit(browser, service, { role: 'Viewer' });
    await viewer.page.goto(`${service.base}/#/alarms`);
    await viewer.page.getByText(`${rules} alarms are active, ${rules} not acknowledged`).waitFor();
    expect(await viewer.page.getByRole('button', { name: /Acknowledge/ }).count()).toBe(0);
    await viewer.context.close();
    const { page, context, complaints } = await visit(browser, service, { role: 'Engineer', hash: '/alarms' });
    await page.getByRole('button', { name: 'Acknowledge all…' }).click();
    const dialog = page.getByRole('dialog', { name: `Acknowledge ${rules} alarms?` });
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Acknowledge all' }).click();
    await page.getByText(`${rules} alarms acknowledged.`).waitFor();
    await page.getByText(`${rules} alarms are active, 0 not acknowledged`).waitFor();
    expect(await page.getByRole('button', { name: 'Acknowledge all…' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
