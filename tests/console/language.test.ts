/// <reference lib="dom" />
/** The console in two languages, in a real Chromium: the browser's language, and a chosen one. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestService } from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, installRules, launch, startDemo, visit } from './browser.ts';
import { choose, untilText } from './steps.ts';

describe.skipIf(chromiumPath === undefined)('languages', () => {
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

  test('a German browser reads German on every page, with a decimal comma and the time zone of the site', async () => {
    const { page, context, complaints } = await visit(browser, service, { locale: 'de-DE' });
    const places: [string, RegExp][] = [
      ['/', /Leistung jetzt[\s\S]*Aktoren[\s\S]*Alarme/],
      ['/points', /Gehalten von/],
      ['/points/4:action:1', /Gehalten von, letzte 24 Stunden/],
      ['/alarms', /Änderungen der letzten 24 Stunden/],
      ['/rules', /Letzter Lauf/],
      ['/rules/1', /Wann sie läuft/],
      ['/forecasts', /Datenverarbeitung|Aufgaben/],
      ['/audit', /Wer hat was/],
      ['/users', /Benutzer anlegen/],
    ];
    for (const [hash, text] of places) {
      await page.goto(`${service.base}/#${hash}`);
      await untilText(page.locator('main'), text);
      expect([hash, await violations(page)]).toEqual([hash, []]);
    }
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    await page.getByText('Europe/Amsterdam').first().waitFor();
    await page.goto(`${service.base}/#/points/4:action:1`);
    await page.getByRole('button', { name: 'Übernehmen' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Grund').fill('ein Versuch');
    await dialog.getByLabel('Wert in kW').fill('12,5');
    await page.keyboard.press('Enter');
    await page.getByTestId('value').getByText('12,5 kW').waitFor();
    // Data processing is switched off at this site, and the page says so.
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
    await context.close();
  });

  test('English with a decimal comma: numbers are read as they are shown, and never as a thousandth', async () => {
    const { page, context } = await visit(browser, service, { locale: 'en-NL' });
    await page.goto(`${service.base}/#/points/3:action:1`);
    await page.getByRole('button', { name: 'Override' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('a trial');
    const value = dialog.getByLabel('Value in kW');
    await value.fill('1.500');
    await dialog.getByText('Enter 1500 or 1,500: the point could group thousands.').waitFor();
    await value.fill('12,5');
    await page.keyboard.press('Enter');
    await page.getByTestId('value').getByText('12,5 kW').waitFor();
    // The operands of a condition are read like other fields; the expression has a decimal point, as in a rule file.
    await page.goto(`${service.base}/#/rules/1?node=%22level%22`);
    await page.getByRole('button', { name: 'Build a condition…' }).first().click();
    const builder = page.getByTestId('condition-builder');
    await choose(page, 'Compared', /^soc ·/);
    await builder.getByLabel('Value (%)').fill('1.500');
    await builder.getByText('Enter 1500 or 1,500: the point could group thousands.').waitFor();
    await builder.getByLabel('Value (%)').fill('40,5');
    await builder.getByLabel('Releases at (%)').fill('38,25');
    await untilText(builder.getByTestId('built-condition'), /^hysteresis\(soc, 40\.5, 38\.25\) == 1$/);
    await context.close();
  });

  test('the language that is chosen outlives a reload; a browser of neither language gets English', async () => {
    const { page, context } = await visit(browser, service, { locale: 'fr-FR' });
    await page.getByRole('button', { name: /Signed in as/ }).click();
    await page.getByRole('menuitem', { name: 'Deutsch' }).click();
    await page.getByRole('button', { name: /Angemeldet als/ }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Anlage', exact: true }).waitFor();
    await page.getByRole('button', { name: /Angemeldet als/ }).click();
    await page.getByRole('menuitem', { name: 'English' }).click();
    await page.getByRole('link', { name: 'Site', exact: true }).waitFor();
    await context.close();
  });
});
