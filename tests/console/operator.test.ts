/// <reference lib="dom" />
/** The site in view and in hand, in a real Chromium: live values, a trend, an override and its release, by keyboard too. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestService } from '../e2e/running-service.ts';
import { chromiumPath, installRules, launch, startDemo, visit } from './browser.ts';

describe.skipIf(chromiumPath === undefined)('the site in view and in hand', () => {
  let service: TestService;
  let browser: Browser;
  beforeAll(async () => {
    service = await startDemo();
    await installRules(service);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    service?.folders.remove();
  });

  test('the first page shows the plant, and from there an actuator is taken in hand and given back', async () => {
    const { page, context, complaints } = await visit(browser, service, { role: 'Engineer' });
    await page.getByRole('link', { name: 'Site', exact: true }).click();
    await page.getByText('Power now').waitFor();
    await page.getByText('Rule Battery charge management').first().waitFor();
    await page.getByRole('link', { name: 'battery power_setpoint' }).click();
    await page.getByRole('button', { name: 'Override' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Value in kW').fill('300');
    await dialog.getByLabel('Reason').fill('work on the feeder');
    await page.keyboard.press('Enter');
    await dialog.getByText(/outside the range -250 to 250/).waitFor();
    await dialog.getByLabel('Value in kW').fill('42');
    await page.keyboard.press('Enter');
    await page.getByText('battery power_setpoint is overridden.').waitFor();
    await page.getByTestId('value').getByText('42 kW').waitFor();
    await page.getByText('Override: work on the feeder').first().waitFor();
    const token = await service.token('Admin');
    const events = await service.request('GET', '/api/v1/audit/events?action=automation.point.override', { token });
    expect(events.text).toContain('automation-point:4:A:1');
    await page.getByRole('button', { name: 'Release' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
    await page.getByText('Released.').waitFor();
    await page.getByRole('row', { name: /work on the feeder/ }).waitFor();
    expect((await service.read('/overrides')).body['data']).toEqual({ list: [] });
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([]);
    await context.close();
  });

  test('[alarms §4.2] an override raises its alarm: seen on the first page, acknowledged by keyboard, shelved, gone with its cause', async () => {
    const body = { value: 5, for_seconds: 600, reason: 'by hand' };
    const held = await service.command('POST', '/points/4/action/1/override', body);
    const { page, context, complaints } = await visit(browser, service, { role: 'Engineer' });
    await page.getByRole('link', { name: 'Site', exact: true }).click();
    const panel = page.getByRole('region', { name: 'Alarms' });
    await panel.getByText('An override is in force').waitFor();
    await panel.getByRole('link', { name: 'All alarms' }).click();
    const row = page.locator('[data-alarm="override-active"]');
    await row.getByRole('button', { name: /Acknowledge/ }).focus();
    await page.keyboard.press('Enter');
    await row.getByText('active, acknowledged').waitFor();
    await row.getByRole('button', { name: /Shelve/ }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('work on the feeder');
    await page.keyboard.press('Enter');
    await page.getByText('An override is in force is shelved.').waitFor();
    await expect.poll(() => row.count()).toBe(0);
    await page.getByText('Shelved', { exact: true }).click();
    await row.getByText('shelved').waitFor();
    const changes = page.getByRole('table', { name: 'Changes of the last 24 hours' });
    await changes.getByRole('cell', { name: 'work on the feeder' }).waitFor();
    const id = String(held.body['data']?.['override_id']);
    await service.command('DELETE', `/overrides/${id}`);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a parameter is changed, shown against the file, and goes back to it', async () => {
    const { page, context, complaints } = await visit(browser, service, { role: 'Engineer' });
    await page.getByRole('link', { name: 'Site', exact: true }).click();
    await page.getByRole('button', { name: 'Change demand_limit' }).click();
    await page.getByRole('dialog').getByLabel('Value in kW').fill('180');
    await page.keyboard.press('Enter');
    const row = page.locator('[data-parameter="demand_limit"]');
    await row.getByText('changed, 200 kW in the file').waitFor();
    await row.getByText('180 kW').waitFor();
    await page.getByRole('button', { name: 'Change demand_limit' }).click();
    await page.getByRole('button', { name: 'Back to 200 kW' }).click();
    await expect.poll(() => row.getByText('in the file').count()).toBe(0);
    await row.getByText('200 kW').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a Viewer sees all of it and may change nothing; a search finds a point; values go on by themselves', async () => {
    const { page, context, complaints } = await visit(browser, service, { role: 'Viewer' });
    await page.getByRole('link', { name: 'Points', exact: true }).click();
    await page.getByLabel('Search points').fill('energy_total');
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    const value = page.locator('[data-point="2:measurement:2"] td').nth(1);
    const before = await value.textContent();
    await expect.poll(() => value.textContent(), { timeout: 10_000 }).not.toBe(before);
    await page.getByLabel('Search points').fill('');
    await page.getByRole('link', { name: 'Alarms', exact: true }).click();
    await page.getByText('All', { exact: true }).click();
    await page.locator('[data-alarm="battery-low"]').waitFor();
    expect(await page.getByRole('button', { name: /Shelve|Acknowledge/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'Points', exact: true }).click();
    await page.getByRole('link', { name: 'genset run' }).click();
    await page.getByText('Held by, last 24 hours').waitFor();
    expect(await page.getByRole('button', { name: 'Override' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
