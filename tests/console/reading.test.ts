/// <reference lib="dom" />
/** A rule can be read without zooming, on a desk and on a phone, in a real browser. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestService } from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, demoRules, installRules, launch, startDemo, visit } from './browser.ts';
import { untilText } from './steps.ts';

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
    await page.goto(`${service.base}/#/rules/${id}`);
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

  test('nodes are arranged downwards where that shows more of the flow, and the other way where it does not', async () => {
    const { page, context } = await visit(browser, service);
    await page.goto(`${service.base}/#/rules/${id}`);
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
    await page.goto(`${service.base}/#/rules/${id}`);
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
    await page.goto(`${service.base}/#/rules/${id}`);
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
});
