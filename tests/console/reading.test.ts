/// <reference lib="dom" />
/** A rule can be read without zooming, on a desk and on a phone, in a real browser. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestService } from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, demoRules, installRules, launch, startDemo, visit } from './browser.ts';
import { choose, openRule, selectNode, untilText } from './steps.ts';

/** The smallest text of the drawn nodes, in pixels of the screen. */
const smallestText = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const viewport = document.querySelector('.react-flow__viewport');
    const zoom = viewport === null ? 0 : new DOMMatrix(getComputedStyle(viewport).transform).a;
    const texts = [...document.querySelectorAll('[data-node] *')].filter(
      (element) => element.childElementCount === 0 && (element.textContent ?? '').trim() !== '',
    );
    return zoom * Math.min(...texts.map((element) => Number.parseFloat(getComputedStyle(element).fontSize)));
  });

/** Whether the node lies within the canvas. */
const isInView = (page: Page, id: string): Promise<boolean> =>
  page.evaluate((node) => {
    const pane = document.querySelector('[data-testid="canvas"]')?.getBoundingClientRect();
    const box = document.querySelector(`[data-node="${node}"]`)?.getBoundingClientRect();
    if (pane === undefined || box === undefined) return false;
    return box.left >= pane.left && box.top >= pane.top && box.right <= pane.right && box.bottom <= pane.bottom;
  }, id);

describe.runIf(chromiumPath !== undefined)('reading a rule', () => {
  let service: TestService;
  let browser: Browser;
  let id: number;
  beforeAll(async () => {
    service = await startDemo();
    browser = await launch();
    const [charging] = demoRules().filter(({ name }) => name === 'Battery charge management');
    if (charging === undefined) throw new Error('the demo has no rule of that name');
    [id = 0] = await installRules(service, [charging]);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    service?.folders.remove();
  });

  test('opens with text of 11 px and more from the start on, with a map while it does not fit', async () => {
    const { page, context, complaints } = await visit(browser, service);
    await openRule(page, service, id);
    await expect.poll(() => isInView(page, 'start')).toBe(true);
    expect(await smallestText(page)).toBeGreaterThanOrEqual(11);
    expect(await isInView(page, 'end')).toBe(false);
    const map = page.locator('.react-flow__minimap');
    await map.waitFor();
    expect(await violations(page)).toEqual([]);

    await page.setViewportSize({ width: 2600, height: 1200 });
    await page.getByRole('button', { name: 'Show the flow from its start' }).click();
    await expect.poll(() => isInView(page, 'end')).toBe(true);
    await map.waitFor({ state: 'detached' });
    expect(await smallestText(page)).toBeGreaterThanOrEqual(11);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a node is brought into view that a link or a problem leads to', async () => {
    const { page, context, complaints } = await visit(browser, service);
    await page.goto(`${service.base}/#/rules/${id}?node=%22stop_charging%22`);
    const value = page.getByTestId('inspector').getByLabel('Value').nth(1);
    await value.waitFor();
    await expect.poll(() => isInView(page, 'stop_charging')).toBe(true);
    expect(await isInView(page, 'start')).toBe(false);

    await value.fill('net_load +');
    await page.getByRole('button', { name: 'Show the flow from its start' }).click();
    await expect.poll(() => isInView(page, 'start')).toBe(true);
    expect(await isInView(page, 'stop_charging')).toBe(false);
    await page.locator('[data-node="start"]').click();
    const problem = page.getByTestId('problems').getByRole('listitem').getByRole('button').first();
    await problem.click();
    await expect.poll(() => isInView(page, 'stop_charging')).toBe(true);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('nodes are arranged downwards where that shows more of the flow, and the other way where it does not', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, id);
    const place = async (node: string) => {
      const box = await page.locator(`[data-node="${node}"]`).boundingBox();
      if (box === null) throw new Error(`${node} is not drawn`);
      return box;
    };
    const goesDown = async (): Promise<boolean> => (await place('end')).y > (await place('start')).y + 400;
    await page.setViewportSize({ width: 1300, height: 1700 });
    await page.getByRole('button', { name: 'Arrange' }).click();
    await expect.poll(goesDown).toBe(true);
    await page.setViewportSize({ width: 2600, height: 800 });
    await page.getByRole('button', { name: 'Arrange' }).click();
    await expect.poll(goesDown).toBe(false);
    await context.close();
  });

  test('a long sentence shows two lines, and all of it when asked', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, id);
    const sentence = page.getByTestId('sentence');
    const height = async () => (await sentence.boundingBox())?.height ?? 0;
    await sentence.waitFor();
    const short = await height();
    await page.getByRole('button', { name: 'Show all' }).click();
    await expect.poll(height).toBeGreaterThan(short * 1.5);
    await page.getByRole('button', { name: 'Show less' }).click();
    await expect.poll(height).toBe(short);
    await context.close();
  });

  test('on a phone the list shows the values of the last run, and the canvas its nodes', async () => {
    const { page, context, complaints } = await visit(browser, service, { width: 390, height: 844 });
    await openRule(page, service, id);
    const list = page.getByTestId('flow-list');
    await untilText(list, /soc ← battery · soc [\d.]+ %/);
    await untilText(list, /battery · power_setpoint = \S.* -?[\d.]+ kW, accepted/);
    await page.getByText('Canvas', { exact: true }).click();
    const canvas = page.getByTestId('canvas');
    expect((await canvas.boundingBox())?.height).toBeGreaterThanOrEqual(420);
    await canvas.scrollIntoViewIfNeeded();
    await expect.poll(() => isInView(page, 'start')).toBe(true);
    expect(await smallestText(page)).toBeGreaterThanOrEqual(11);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a draft is never drawn with the runs of the stored rule: it is evaluated on live values', async () => {
    const { page, context, complaints } = await visit(browser, service, { width: 2400, height: 1100 });
    await openRule(page, service, id);
    const sign = page.getByTestId('shown-run');
    await untilText(sign, /Shown: the last run, live/);
    await selectNode(page, 'level');
    const when = page.getByLabel('Taken when').first();
    await when.fill('soc < 100');
    await untilText(sign, /Preview of the draft on live values\. Nothing was executed/);
    // The charge is 55 %: the stored branch was false, the draft's is true.
    await untilText(page.locator('[data-node="level"]'), /soc < 100[\s\S]*soc = 5\d(\.\d+)?[\s\S]*✓ true/);
    await untilText(page.getByTestId('canvas'), /would be sent/);
    await when.fill('soc <');
    await untilText(sign, /Fix the errors/);
    expect(await page.locator('[data-node="level"]').innerText()).not.toMatch(/true|false/);
    // A past run is drawn on its own flow, whatever the draft is.
    await when.fill('soc < 100');
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByTestId('history').locator('button[data-outcome]').first().click();
    await untilText(page.locator('[data-node="level"]'), /critical == 1/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a rule that someone else saves is shown as it is then, and no run of one revision on the flow of another', async () => {
    const peak = demoRules().find(({ name }) => name === 'Peak shaving');
    if (peak === undefined) throw new Error('the demo has no rule of that name');
    const [other = 0] = await installRules(service, [peak]);
    const { page, context, complaints } = await visit(browser, service);
    await openRule(page, service, other);
    const sign = page.getByTestId('shown-run');
    await untilText(sign, /Shown: the last run, live/);
    // It runs each second: the next run shows the new revision.
    const stored = await service.read(`/rules/${other}`);
    const flow = JSON.stringify(stored.body['data']?.['flow_json']).replaceAll('demand_limit', 'export_limit');
    const saved = { flow_json: JSON.parse(flow), description: 'by someone else' };
    expect((await service.command('PUT', `/rules/${other}`, saved)).status).toBe(200);
    await expect.poll(() => page.getByLabel('Description').inputValue()).toBe('by someone else');
    await untilText(page.getByTestId('canvas'), /export_limit/);
    await untilText(sign, /Shown: the last run, live/);
    // A disabled rule does not run: its last run belongs to the revision before.
    await service.command('POST', `/rules/${other}/disable`);
    expect((await service.command('PUT', `/rules/${other}`, { description: 'and once more' })).status).toBe(200);
    await expect.poll(() => page.getByLabel('Description').inputValue()).toBe('and once more');
    await untilText(sign, /This revision has not run yet\./);
    expect(complaints).toEqual([]);
    // The browser logs each 404.
    expect((await service.command('DELETE', `/rules/${other}`)).status).toBe(200);
    await page.getByText('This rule has been deleted.').waitFor();
    await context.close();
  });

  test('the state of a rule says why it is not running: distances, rest of the time, decisions', async () => {
    const { page, context, complaints } = await visit(browser, service);
    await openRule(page, service, id);
    await page.getByRole('button', { name: /why is it not running now/ }).click();
    const why = page.getByTestId('why-not');
    await untilText(why, /Waiting for the next interval\.[\s\S]*Due (now|in \d+ s)\./);
    await untilText(why, /critical: critical == 1 is false \(critical = 0\)/);
    expect(await violations(page)).toEqual([]);
    const [alarm] = demoRules().filter(({ name }) => name === 'Grid import alarm');
    if (alarm === undefined) throw new Error('the demo has no rule of that name');
    await installRules(service, [alarm]);
    await page.goto(`${service.base}/#/rules`);
    await untilText(
      page.locator('tr', { hasText: 'Grid import alarm' }),
      /grid · active_power: [\d.]+ kW, moved by [\d.]+ kW of 1 kW/,
    );
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('each value on the canvas says under the pointer how old it is, and of which quality', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, id);
    const value = page.locator('[data-node] span[title^="read "]').first();
    await expect.poll(() => value.getAttribute('title')).toMatch(/^read .+, quality good$/);
    await context.close();
  });

  test('runs collapse while nothing changes, are filtered and found by time, and a slider goes through them', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: `/rules/${id}?panel=%22history%22` });
    const history = page.getByTestId('history');
    const rows = history.locator('button[data-outcome]');
    // A rule that makes the same decision every second is one row.
    await untilText(rows.first(), /since \d/);
    expect(await rows.count()).toBeLessThan(5);
    await history.getByLabel('Only decision changes').uncheck();
    await expect.poll(() => rows.count()).toBeGreaterThan(10);
    const slider = history.getByLabel('Run shown on the canvas');
    await slider.focus();
    await slider.press('ArrowLeft');
    await untilText(page.getByTestId('shown-run'), /Shown: the run of/);
    const second = await rows.nth(1).getAttribute('aria-pressed');
    expect(second).toBe('true');
    await slider.press('ArrowLeft');
    await expect.poll(() => rows.nth(2).getAttribute('aria-pressed')).toBe('true');

    await choose(page, 'Outcome', 'Failed');
    await untilText(history, /No such run recorded/);
    await choose(page, 'Outcome', 'all');
    await history.getByLabel('Go to time').fill('2020-01-01T00:00:00');
    await expect.poll(() => rows.count()).toBe(0);
    await history.getByLabel('Go to time').fill('');
    await expect.poll(() => rows.count()).toBeGreaterThan(10);
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[rules §2.6] the search goes past empty pages of runs; if it finds no change, it names the time it reached', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: null });
    const newest = (await service.read(`/rules/${id}/history?limit=1`)).body['data']?.['next_before'];
    let asked = 0;
    let emptyPages = 3;
    // A page of the service holds the matches among a thousand runs. Here the first pages are empty.
    await page.route(/\/history\?.*changes=true/, async (route) => {
      if (asked++ >= emptyPages) return route.continue();
      const reply = await route.fetch();
      const body = (await reply.json()) as { data: object };
      return route.fulfill({
        response: reply,
        json: { ...body, data: { ...body.data, list: [], next_before: newest } },
      });
    });
    const open = () => page.goto(`${service.base}/#/rules/${id}?panel=%22history%22`);
    const history = page.getByTestId('history');
    await open();
    await history.locator('button[data-outcome]').first().waitFor();
    expect(asked).toBe(emptyPages + 1);

    [asked, emptyPages] = [0, 30];
    await page.reload();
    await untilText(history, /The decision has not changed since \d/);
    expect(asked).toBe(20);
    await history.getByRole('button', { name: 'Show older runs' }).click();
    await history.locator('button[data-outcome]').first().waitFor();
    expect(asked).toBe(emptyPages + 1);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
