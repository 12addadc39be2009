/// <reference lib="dom" />
/** The audit page, in a real browser: what an event changed, names, facets, keys, export. */
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tamperAt } from '../../src/testing/audit-trail.ts';
import {
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestService,
  testFolders,
  virtualSite,
  waitFor,
} from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, demoRules, installRules, launch, startDemo, visit } from './browser.ts';
import { untilText } from './steps.ts';

describe.runIf(chromiumPath !== undefined)('the audit page', () => {
  let service: TestService;
  let browser: Browser;
  let id: number;
  beforeAll(async () => {
    service = await startDemo();
    browser = await launch();
    const isShaving = ({ name }: { readonly name: string }): boolean => name === 'Peak shaving';
    const rules = demoRules();
    [id = 0] = await installRules(service, [...rules.filter(isShaving), ...rules.filter((rule) => !isShaving(rule))]);
    const changed = await service.command('PUT', `/rules/${id}`, { priority: 99, reason: 'more important' });
    expect(changed.status, changed.text).toBe(200);
    await service.command('POST', '/points/4/action/1/override', { value: 10, for_seconds: 60, reason: 'a test' });
    for (const subject of ['ada', 'bob', 'eve']) {
      const issued = runCommand('setpoint', ['token', '--role', 'Viewer', '--subject', subject, '--ttl', '1h'], {
        ...serviceEnvironment(service.folders),
      });
      expect(issued.status, issued.stderr).toBe(0);
    }
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    service?.folders.remove();
  });

  test('an event shows its change, by meaning, and the resulting revision', async () => {
    const { page, context, complaints } = await visit(browser, service, {
      hash: '/audit?action=%22automation.rule.update%22',
    });
    await page.locator('tr[data-outcome="succeeded"] button').first().click();
    const changes = page.getByTestId('event-changes');
    await untilText(changes, /What changed\s*revision \d+[\s\S]*Priority[\s\S]*20[\s\S]*99/);
    expect(await violations(page)).toEqual([]);
    await changes.getByRole('link', { name: /revision/ }).click();
    await page.waitForURL(/revisions/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('actuators, rules and tokens have names; facets count and filter', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: '/audit' });
    const table = page.getByTestId('audit-events');
    await untilText(table, /battery · power_setpoint\s*automation-point:4:A:1/);
    await untilText(table, /Token for ada\s*identity-token:ada/);
    await untilText(table, /Peak shaving\s*automation-rule:\d+/);
    const facets = page.getByTestId('facets');
    await untilText(facets, /Counts in the \d+ events listed below[\s\S]*Overrode an actuator 2/);
    const resources = facets.getByRole('region', { name: 'Resources' }).getByRole('listitem');
    const more = resources.getByRole('button', { name: /Show \d+ more/ });
    const hidden = Number(/\d+/.exec(await more.innerText())?.[0]);
    await more.click();
    await expect.poll(() => resources.count()).toBe(6 + hidden);
    await facets.getByRole('button', { name: /Overrode an actuator/ }).click();
    await expect.poll(() => table.locator('tbody tr').count()).toBe(2);
    expect(await violations(page)).toEqual([]);
    await facets.getByRole('button', { name: /Overrode an actuator/ }).click();
    await expect.poll(() => table.locator('tbody tr').count()).toBeGreaterThan(5);
    await page.getByRole('button', { name: 'Last hour' }).click();
    await page.waitForURL(/from=/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('an open list reports newer events that match its filters, and shows them on request', async () => {
    const { page, context, complaints } = await visit(browser, service, {
      hash: '/audit?action=automation.point.override',
    });
    const rows = page.getByTestId('audit-events').locator('tbody tr');
    const newer = page.getByText('Newer events have been recorded.');
    await expect.poll(() => rows.count()).toBe(2);
    const override = { value: 5, for_seconds: 60, reason: 'by hand' };
    await service.command('POST', '/points/4/action/1/override', override);
    await newer.waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show them' }).click();
    await expect.poll(() => rows.count()).toBe(4);
    await expect.poll(() => newer.count()).toBe(0);
    // Events that the filters exclude are not reported.
    await service.command('POST', '/points/4/action/1/release', { reason: 'by hand' });
    const looked = page.waitForResponse((response) => response.url().includes('limit=1'));
    await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
    await looked;
    expect(await newer.count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('J and K go through the events, Enter opens one; the search is exported as lines', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: '/audit' });
    await page.getByTestId('audit-events').waitFor();
    const focused = () =>
      page.evaluate(() => document.activeElement?.closest('tr')?.getAttribute('data-action') ?? null);
    const rowOf = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('[data-row]')].indexOf(document.activeElement ?? document.body),
      );
    await page.keyboard.press('j');
    await expect.poll(rowOf).toBe(0);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await expect.poll(rowOf).toBe(2);
    await page.keyboard.press('k');
    await expect.poll(rowOf).toBe(1);
    expect(await focused()).not.toBeNull();
    await page.keyboard.press('Enter');
    await page.getByTestId('audit-event').waitFor();
    await page.keyboard.press('Escape');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export…' }).click();
    const path = await (await download).path();
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('eventId');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[audit §9.4] an event shows its checkpoint; its proof verifies on a page without network', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: '/audit?event=%221%22' });
    const proof = page.getByTestId('event-proof');
    await untilText(proof, /Covered by the checkpoint of \d+ entries\. No witness cosigned it\./);
    expect(await violations(page)).toEqual([]);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      proof.getByRole('button', { name: 'Download the proof' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe('audit-event-1.tlog-proof');
    const text = readFileSync(await file.path(), 'utf8');
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      proof.getByRole('button', { name: 'Save the verifier page' }).click(),
    ]);
    const verifier = join(service.folders.config, 'verify-proof.html');
    copyFileSync(await saved.path(), verifier);
    const key =
      runCommand('setpoint', ['audit', 'key'], serviceEnvironment(service.folders)).stdout.split('\n')[0] ?? '';
    const alone = await context.newPage();
    // The console asks repeatedly, and would show an error.
    await page.close();
    await context.setOffline(true);
    await alone.goto(`file://${verifier}`);
    await alone.getByLabel('Proof', { exact: true }).fill(text);
    await alone.getByLabel('Key of the log').fill(key);
    await alone.getByRole('button', { name: 'Check' }).click();
    await untilText(
      alone.locator('#answer'),
      /The proof is valid: the event is entry 0 of setpoint\/.*"sequence": "1"/s,
    );
    expect(await violations(alone)).toEqual([]);
    await alone.getByLabel('Proof', { exact: true }).fill(text.replace('index 0', 'index 1'));
    await alone.getByRole('button', { name: 'Check' }).click();
    await untilText(alone.locator('#answer'), /The proof is not valid/);
    await alone.getByLabel('Key of the log').fill('nonsense');
    await alone.getByRole('button', { name: 'Check' }).click();
    await untilText(alone.locator('#answer'), /This is not the key of a log: nonsense/);
    expect(complaints).toEqual([]);
    await context.close();
  });
});

test.runIf(chromiumPath !== undefined)(
  '[identity §3] a token for the audit log alone opens that page only, and asks for nothing else',
  async () => {
    const token = 'an-opaque-token-of-32-characters-or-more';
    const service = await startTestService(testFolders(virtualSite), {
      SVC_CLOUD_API_BEARER_TOKEN: token,
      SVC_CLOUD_API_TENANT_ID: 'tenant-1',
      SVC_CLOUD_API_PROJECT_ID: 'project-1',
      SVC_CLOUD_API_SUBJECT_ID: 'auditor',
      SVC_CLOUD_API_PERMISSIONS: 'audit.event.read',
    });
    const browser = await launch();
    try {
      await service.command('POST', '/rules', { name: 'one' });
      const { page, context } = await visit(browser, service, { role: null, hash: null });
      const refused: string[] = [];
      page.on('response', (answer) => answer.status() >= 400 && refused.push(`${answer.status()} ${answer.url()}`));
      page.on('websocket', () => refused.push('a live stream'));
      await context.addInitScript((given) => sessionStorage.setItem('setpoint.token', given), token);
      // The first page leads to the only one that it opens.
      await page.goto(service.base);
      await page.getByTestId('audit-events').getByText('Created a rule').first().waitFor();
      expect(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents()).toEqual([
        'Audit',
      ]);
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').getByText('Audit').waitFor();
      // Periodic requests are made at once, and a refused stream is opened again by then.
      await page.waitForTimeout(3000);
      expect(refused).toEqual([]);
      await context.close();
    } finally {
      await browser.close();
      await service.stop();
      service.folders.remove();
    }
  },
);

test.runIf(chromiumPath !== undefined)(
  '[audit §9.7] the pages that people look at first say that the log is broken',
  async () => {
    const of = testFolders(virtualSite);
    of.write('service.yaml', 'audit:\n  checkpoint_interval_ms: 1000\n  checkpoint_max_age_ms: 1000\n');
    const service = await startTestService(of);
    const browser = await launch();
    try {
      await service.command('POST', '/rules', { name: 'one' });
      // The next checkpoint finds this, whether or not an earlier one covered the events.
      await tamperAt(join(of.data, 'site.sqlite'), `UPDATE audit_chain SET hash = '${'0'.repeat(64)}'`);
      await waitFor(async () => (await service.request('GET', '/ready', { token: null })).status === 503);
      const { page, context } = await visit(browser, service);
      for (const path of ['', 'audit']) {
        await page.goto(`${service.base}/#/${path}`);
        const notice = page.getByRole('alert').filter({ hasText: 'The audit log is broken' });
        await notice.waitFor();
        expect(await violations(page)).toEqual([]);
      }
      await context.close();
    } finally {
      await browser.close();
      await service.stop();
      of.remove();
    }
  },
);
