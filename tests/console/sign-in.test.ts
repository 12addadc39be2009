/// <reference lib="dom" />
/** Signing in with accounts, in a real Chromium: an invitation by an Admin, a session for all tabs, and its end. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand, serviceEnvironment, type TestService } from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, installRules, launch, startDemo, visit } from './browser.ts';

const password = 'correct horse battery staple';

describe.skipIf(chromiumPath === undefined)('[identity §7] signing in with an account', () => {
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

  async function signedIn(page: Page, name: string): Promise<void> {
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).first().click();
    await page.getByRole('link', { name: 'Points', exact: true }).waitFor();
  }

  test('an Admin invites; the invited one chooses a password, signs in, shares it with a second tab, and signs out of both', async () => {
    const admin = await visit(browser, service, { role: 'Admin' });
    await admin.page.getByRole('button', { name: /Signed in as/ }).click();
    await admin.page.getByRole('menuitem', { name: 'Users' }).click();
    await admin.page.getByRole('button', { name: 'Add a user' }).click();
    await admin.page.getByRole('dialog').getByLabel('Name').fill('grace');
    await admin.page.getByRole('dialog').getByText('Engineer', { exact: true }).click();
    await admin.page.keyboard.press('Enter');
    const link = await admin.page.getByRole('textbox', { name: 'Link for grace' }).inputValue();
    expect(link).toContain('/#set-password=');
    expect(await violations(admin.page)).toEqual([]);
    await admin.page.keyboard.press('Escape');
    await admin.page.getByText('no password yet').waitFor();

    const { page, context, complaints } = await visit(browser, service, { role: null });
    await page.goto(link);
    await page.getByLabel('New password').fill(password);
    await page.getByLabel('Repeat the password').fill(`${password}x`);
    await page.getByText('The passwords do not match.').waitFor();
    expect(await page.getByRole('button', { name: 'Set the password' }).isDisabled()).toBe(true);
    await page.getByLabel('Repeat the password').fill(password);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByText('The password of grace is set.').waitFor();
    expect(page.url()).not.toContain('set-password');
    expect(await violations(page)).toEqual([]);
    await signedIn(page, 'grace');
    expect(
      await page.evaluate(() => `${document.cookie}${sessionStorage.length}${localStorage.getItem('token')}`),
    ).toBe('0null');

    const second = await context.newPage();
    await second.goto(`${service.base}/#/points`);
    await second.getByRole('link', { name: 'battery power_setpoint' }).click();
    await second.getByRole('button', { name: 'Override' }).click();
    await second.getByRole('dialog').getByLabel('Reason').fill('by an account');
    await second.getByRole('dialog').getByLabel('Value in kW').fill('12');
    await second.keyboard.press('Enter');
    await second.getByText('Override: by an account').first().waitFor();
    await second.getByTestId('stream').getByText('Live', { exact: true }).waitFor();

    await page.getByRole('button', { name: /Signed in as/ }).click();
    await page.getByRole('menuitem', { name: 'Change password…' }).click();
    const own = page.getByRole('dialog', { name: 'Change your password' });
    const next = `${password}!`;
    await own.getByLabel('Current password').fill('wrong');
    await own.getByLabel('New password').fill(next);
    expect(await own.getByRole('button', { name: 'Change it' }).isDisabled()).toBe(true);
    await own.getByLabel('Repeat the password').fill(next);
    await page.keyboard.press('Enter');
    await own.getByText('Wrong password.').waitFor();
    expect(complaints.splice(0)).toEqual([expect.stringContaining('401')]);
    expect(await violations(page)).toEqual([]);
    await own.getByLabel('Current password').fill(password);
    await page.keyboard.press('Enter');
    await page.getByText('Your password is changed.').waitFor();
    // Both tabs continue with their session.
    await second.getByRole('link', { name: 'Rules', exact: true }).click();
    await second.getByRole('link', { name: 'Peak shaving' }).waitFor();

    await page.getByRole('button', { name: /Signed in as/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    for (const tab of [page, second]) await tab.getByText('Sign in to Setpoint').waitFor();
    await second.reload();
    await second.getByText('Sign in to Setpoint').waitFor();
    expect(complaints).toEqual([]);
    await context.close();

    await admin.page.getByRole('button', { name: 'Change role of grace' }).click();
    const dialog = admin.page.getByRole('dialog');
    const change = dialog.getByRole('button', { name: 'Change role' });
    expect(await change.isDisabled()).toBe(true);
    await dialog.getByText('Viewer', { exact: true }).click();
    expect(await violations(admin.page)).toEqual([]);
    await change.click();
    await admin.page.getByText('grace has the role Viewer now.').waitFor();
    await admin.page.locator('[data-user="grace"]').getByText('Viewer', { exact: true }).waitFor();

    await admin.page.getByRole('button', { name: 'Disable grace' }).click();
    await admin.page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await admin.page.getByText('grace is disabled.').waitFor();
    await admin.context.close();
  });

  test('an Admin finds a lost access token and revokes it', async () => {
    const env = serviceEnvironment(service.folders);
    const issued = runCommand('setpoint', ['token', '--role', 'Viewer', '--subject', 'tablet', '--json'], env);
    const { token, token_id: id } = JSON.parse(issued.stdout) as { token: string; token_id: string };
    const status = async () => (await service.request('GET', '/api/v1/automation/api/rules', { token })).status;
    expect(await status()).toBe(200);
    const { page, context } = await visit(browser, service, { role: 'Admin' });
    await page.goto(`${service.base}/#/users`);
    const row = page.locator(`[data-token="${id}"]`);
    await row.getByText('valid', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Revoke the token of tablet' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke the token of tablet?' });
    const revoke = dialog.getByRole('button', { name: 'Revoke' });
    await dialog.getByLabel('Reason').fill('ab');
    expect(await revoke.isDisabled()).toBe(true);
    await dialog.getByLabel('Reason').fill('left in a train');
    expect(await violations(page)).toEqual([]);
    await revoke.click();
    await page.getByText('The token of tablet is revoked.').waitFor();
    await row.getByText('revoked', { exact: true }).waitFor();
    await expect.poll(status, { timeout: 5000 }).toBe(401);
    await context.close();
  });

  test('after a sign-in with a provider that did not succeed, the page says why, once', async () => {
    const { page, context } = await visit(browser, service, { role: null });
    const places = {
      failed: 'Signing in with your organisation failed. The service log has the reason.',
      unavailable: 'Signing in with your organisation is not possible at the moment. Try again later.',
    };
    for (const [outcome, words] of Object.entries(places)) {
      await page.goto('about:blank');
      await page.goto(`${service.base}/#sign-in-${outcome}`);
      await page.getByRole('alert').filter({ hasText: words }).waitFor();
      expect(page.url()).not.toContain('sign-in-');
    }
    await context.close();
  });

  test('an expired session keeps the input, and continues after a sign-in', async () => {
    const token = await service.token('Admin');
    const options = { token, headers: { 'x-svc-confirmed': 'true' } };
    const add = { ...options, body: { name: 'linus', role: 'Engineer', confirmed: true } };
    const added = await service.request('POST', '/api/v1/identity/users', add);
    const code = String(added.body['data']?.['link']).split('=')[1];
    await service.request('POST', '/session/password', { token: null, body: { code, password } });
    const { page, context } = await visit(browser, service, { role: null });
    await signedIn(page, 'linus');
    await page.goto(`${service.base}/#/points/4:action:1`);
    await page.getByRole('button', { name: 'Override' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('half a sentence');
    await context.clearCookies();
    const ended = page.getByRole('dialog', { name: 'Your sign-in has expired' });
    await ended.waitFor();
    await ended.getByLabel('Name').fill('linus');
    await ended.getByLabel('Password', { exact: true }).fill(password);
    await page.keyboard.press('Enter');
    await ended.waitFor({ state: 'detached' });
    expect(await page.getByRole('dialog').getByLabel('Reason').inputValue()).toBe('half a sentence');
    await context.close();
  });
});
