/// <reference lib="dom" />
/** Templates of rules, in a real browser: a rule from a packaged template, a rule used as a template, an update with its difference. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestService } from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, launch, startDemo, visit } from './browser.ts';
import { choose, openRule, untilText } from './steps.ts';

describe.runIf(chromiumPath !== undefined)('templates', () => {
  let service: TestService;
  let browser: Browser;
  beforeAll(async () => {
    service = await startDemo();
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    service?.folders.remove();
  });

  test('[rules §13.1] a rule is made from a template of the package: points of the right unit, numbers in range', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: '/rules' });
    await page.getByRole('button', { name: 'From a template…' }).click();
    const dialog = page.getByTestId('template-dialog');
    await choose(page, 'Template', 'Battery: charge by the clock');
    await dialog.getByLabel('Name', { exact: true }).fill('Charge at night');
    const create = dialog.getByRole('button', { name: 'Create rule' });
    expect(await create.isDisabled()).toBe(true);
    await dialog.getByLabel(/^soc:/).click();
    // Only points in percent are offered.
    expect(await page.getByRole('option').count()).toBe(1);
    await page.getByRole('option', { name: /battery · soc/ }).click();
    await dialog.getByLabel(/^setpoint:/).click();
    await page.getByRole('option', { name: /battery · power_setpoint/ }).click();
    // A number out of range disables the button and names the range; the default does not replace it.
    for (const odd of ['100.5', '']) {
      expect(await create.isDisabled()).toBe(false);
      await dialog.getByLabel(/^soc_target:/).fill(odd);
      await expect.poll(() => create.isDisabled()).toBe(true);
      if (odd !== '') await dialog.getByText('Enter a number from 0 to 100.').waitFor();
      await dialog.getByLabel(/^soc_target:/).fill('100');
    }
    await dialog.getByLabel(/^soc_target:/).fill('70');
    expect(await violations(page)).toEqual([]);
    await create.click();
    await page.waitForURL(/\/rules\/\d+/);
    await untilText(page.getByTestId('sentence'), /soc_target/);
    await untilText(page.locator('[data-node="settings"]'), /soc_target = 70/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[rules §13.2], [rules §13.4] a rule is used as a template; rules created from it follow it, with the difference first', async () => {
    const { page, context, complaints } = await visit(browser, service);
    const made = await service.command('POST', '/rules/from-template', {
      template: 'heat-load-shedding',
      name: 'Heater one',
      points: {
        import: { instance: 1, point_type: 'measurement', point: 1 },
        release: { instance: 5, point_type: 'action', point: 1 },
      },
    });
    const id = Number(made.body['data']?.['id']);
    await openRule(page, service, id);
    await page.getByRole('button', { name: 'More actions for Heater one' }).click();
    await page.getByRole('menuitem', { name: 'Use as template…' }).click();
    const dialog = page.getByTestId('template-dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Heater two');
    await dialog.getByLabel(/^import:/).click();
    await page.getByRole('option', { name: /grid · active_power/ }).click();
    await dialog.getByLabel(/^release:/).click();
    await page.getByRole('option', { name: /genset · run/ }).click();
    await dialog.getByLabel('limit').fill('150');
    await dialog.getByRole('button', { name: 'Create rule' }).click();
    await untilText(page.locator('h1'), /Heater two/);

    await service.command('PUT', `/rules/${id}`, { priority: 77 });
    await page.getByRole('button', { name: 'More actions for Heater two' }).click();
    await page.getByRole('menuitem', { name: 'Update from template…' }).click();
    const update = page.getByTestId('template-update');
    await untilText(update, /Priority[\s\S]*40[\s\S]*77/);
    expect(await violations(page)).toEqual([]);
    await update.getByRole('button', { name: 'Update', exact: true }).click();
    await update.waitFor({ state: 'detached' });
    await expect.poll(async () => page.getByLabel('Priority').inputValue()).toBe('77');
    await untilText(page.locator('[data-node="settings"]'), /limit = 150/);

    await service.command('PUT', `/rules/${id}`, { description: 'Sheds heat. #template' });
    await page.goto(`${service.base}/#/rules`);
    await page.getByRole('button', { name: 'From a template…' }).click();
    await page.getByRole('combobox', { name: 'Template' }).click();
    await untilText(page.getByRole('listbox'), /^Rules of this site with the tag #template\s+Heater one\s+Included\s/);
    await page.getByRole('option', { name: 'Heater one' }).click();
    await untilText(page.getByTestId('template-dialog'), /Sheds heat\.\s/);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
