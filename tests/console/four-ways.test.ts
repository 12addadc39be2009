/// <reference lib="dom" />
/** The console is the fourth way in [platform §3]: an operator's actions there leave the same audit events as over HTTP. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { byHttp, type Door, operatorSteps, type Step, trace } from '../e2e/doors.ts';
import type { TestService } from '../e2e/running-service.ts';
import { chromiumPath, launch, visit } from './browser.ts';

type Way = (page: Page, step: Step) => Promise<unknown>;

const dialog = (page: Page) => page.getByRole('dialog');
const reason = async (page: Page, { body }: Step) => dialog(page).getByLabel('Reason').fill(String(body?.['reason']));
const pump = (page: Page) => page.evaluate(() => location.assign('#/points/1:action:1'));
const overrideRow = (page: Page) => page.locator('[data-alarm="override-active"]');
const done = (page: Page, text: string) => page.getByText(text).first().waitFor();

/** Each step by hand. The shortest duration offered is selected already. */
const ways: Readonly<Record<string, Way>> = {
  async override(page, step) {
    await pump(page);
    await page.getByRole('button', { name: 'Override' }).click();
    await dialog(page).getByLabel('Value in kW').fill(String(step.body?.['value']));
    await reason(page, step);
    await page.keyboard.press('Enter');
    await done(page, 'tank pump is overridden.');
  },
  async acknowledge(page) {
    await page.getByRole('link', { name: /^Alarms/ }).click();
    await overrideRow(page)
      .getByRole('button', { name: /Acknowledge/ })
      .click();
    await overrideRow(page).getByText('active, acknowledged').waitFor();
  },
  async shelve(page, step) {
    await overrideRow(page)
      .getByRole('button', { name: /Shelve/ })
      .click();
    await reason(page, step);
    await page.keyboard.press('Enter');
    await done(page, 'is shelved.');
  },
  async unshelve(page) {
    await page.getByText('Shelved', { exact: true }).click();
    await overrideRow(page)
      .getByRole('button', { name: /Unshelve/ })
      .click();
    await done(page, 'is no longer shelved.');
  },
  async release(page) {
    await pump(page);
    await page.getByRole('button', { name: 'Release' }).click();
    await dialog(page).getByRole('button', { name: 'Release' }).click();
    await done(page, 'Released.');
  },
  async limit(page, step) {
    await page.getByRole('button', { name: 'Limit', exact: true }).click();
    await dialog(page).getByLabel('At most, in kW').fill(String(step.body?.['max']));
    await reason(page, step);
    await page.keyboard.press('Enter');
    await done(page, 'tank pump is limited.');
  },
  async parameterUpdate(page, step) {
    await page.getByRole('link', { name: 'Site', exact: true }).click();
    await page.getByRole('button', { name: 'Change limit' }).click();
    await dialog(page).getByLabel('Value in m').fill(String(step.body?.['value']));
    await reason(page, step);
    await page.keyboard.press('Enter');
    await page.locator('[data-parameter="limit"]').getByText('changed, 10 m in the file').waitFor();
  },
  async parameterReset(page) {
    await page.getByRole('button', { name: 'Change limit' }).click();
    await dialog(page).getByRole('button', { name: 'Back to 10 m' }).click();
    await expect.poll(() => page.locator('[data-parameter="limit"]').getByText('in the file').count()).toBe(0);
  },
};

async function consoleDoor(service: TestService): Promise<{ door: Door; close: () => Promise<void> }> {
  const browser = await launch();
  const { page } = await visit(browser, service, { role: 'Engineer' });
  const door: Door = async (_, step) => {
    await ways[step.operation]?.(page, step);
  };
  return { door, close: () => browser.close() };
}

describe.skipIf(chromiumPath === undefined)('four doors', () => {
  test('[platform §3] override, limit, release, acknowledge, shelve, unshelve and parameters by the console leave the events of HTTP', async () => {
    const http = await trace(async () => ({ door: byHttp, close: async () => undefined }), operatorSteps);
    const byConsole = await trace(consoleDoor, operatorSteps);
    expect(operatorSteps().map(({ operation }) => operation)).toEqual(Object.keys(ways));
    expect(http.events).toHaveLength(16);
    expect(byConsole).toEqual(http);
  }, 90_000);
});
