/// <reference lib="dom" />
/** The revisions of a rule in a real browser [rules §1.4]: listed, compared, restored; duplicated; back after a deletion. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestService } from '../e2e/running-service.ts';
import { chromiumPath, installRules, launch, startDemo, visit } from './browser.ts';
import { confirm, openRule, selectNode, untilText } from './steps.ts';

const at = (step: number) => ({ x: 320 * step, y: 0 });
const flow = (when: string) => ({
  nodes: [
    { id: 'start', type: 'start', position: at(0), data: { config: { wires: { default: ['read'] } } } },
    {
      id: 'read',
      type: 'input',
      position: at(1),
      data: {
        config: {
          variables: [{ name: 'soc', instance: 4, point_type: 'measurement', point: 1 }],
          wires: { default: ['decide'] },
        },
      },
    },
    {
      id: 'decide',
      type: 'decision',
      position: at(2),
      data: {
        label: 'Full?',
        config: { branches: [{ name: 'full', when }], wires: { full: ['stop'], else: ['end'] } },
      },
    },
    {
      id: 'stop',
      type: 'action',
      position: at(3),
      data: { config: { writes: [{ instance: 4, point: 1, value: 0 }], wires: { default: ['end'] } } },
    },
    { id: 'end', type: 'end', position: at(4) },
  ],
  edges: [],
});

describe.runIf(chromiumPath !== undefined)('revisions', () => {
  let service: TestService;
  let browser: Browser;
  let id = 0;
  beforeAll(async () => {
    service = await startDemo();
    const rule = { name: 'Stop when full', description: '', trigger_config: { type: 'interval', interval_ms: 1000 } };
    [id = 0] = await installRules(service, [{ ...rule, flow_json: flow('soc > 80') }]);
    await service.command('PUT', `/rules/${id}`, { flow_json: flow('soc > 90'), reason: 'the battery may take more' });
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    service?.folders.remove();
  });
  const revision = async (): Promise<unknown> => (await service.read(`/rules/${id}`)).body['data']?.['revision'];

  test('the meaning of a change is shown, and one click reverts it, with a reason', async () => {
    const { page, context, complaints } = await visit(browser, service);
    await openRule(page, service, id);
    await page.getByRole('button', { name: /More/ }).click();
    await page.getByRole('menuitem', { name: 'Revisions' }).click();
    await page.getByRole('heading', { name: 'Revisions of Stop when full' }).waitFor();
    const shown = page.getByTestId('revision');
    await untilText(shown, /“Full\?” · branches · 0 · when/);
    await untilText(shown, /soc > 80[\s\S]*soc > 90/);
    await untilText(shown.getByTestId('actuators'), /battery · power_setpoint is written under a different condition/);
    await untilText(shown, /if soc > 90, set battery · power_setpoint to 0 kW/);
    const newest = Number(await revision());
    const list = page.getByTestId('revisions');
    await untilText(list, /the battery may take more/);

    await list.locator(`[data-revision="${newest - 1}"]`).click();
    await page.getByRole('button', { name: 'Restore…' }).click();
    const dialog = page.getByRole('dialog');
    await untilText(dialog, /soc > 90[\s\S]*soc > 80/);
    await dialog.getByLabel('Reason').fill('too hot');
    await dialog.getByRole('button', { name: 'Restore', exact: true }).click();
    await expect.poll(revision).toBe(newest + 1);
    await untilText(list, new RegExp(`restored from revision ${newest - 1}`));
    await untilText(list, /too hot/);
    const { data } = (await service.read(`/rules/${id}`)).body;
    expect(data?.['flow_json']).toEqual(flow('soc > 80'));
    await page.getByRole('link', { name: 'Audit records' }).click();
    await page.getByText('automation.rule.restore').first().waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a copy opens, disabled; a viewer sees everything and may change nothing', async () => {
    const { page, context } = await visit(browser, service, { hash: `/rules/${id}/revisions` });
    await page.getByRole('button', { name: 'Duplicate…' }).click();
    await page.getByLabel('Name of the copy').fill('Stop when nearly full');
    await page.getByRole('dialog').getByRole('button', { name: 'Duplicate', exact: true }).click();
    await page.getByTestId('canvas').waitFor();
    await page.getByRole('heading', { name: 'Stop when nearly full' }).waitFor();
    await context.close();

    const viewer = await visit(browser, service, { role: 'Viewer' });
    await viewer.page.goto(`${service.base}/#/rules/${id}/revisions`);
    await viewer.page.getByTestId('revision').waitFor();
    await untilText(viewer.page.getByTestId('revisions'), /created/);
    expect(await viewer.page.getByRole('button', { name: /Duplicate|Restore/ }).count()).toBe(0);
    await viewer.context.close();
  });

  test('restoring a live revision of a rule in shadow says that the rule will command, and afterwards that it does', async () => {
    await service.command('POST', `/rules/${id}/enable`, { mode: 'shadow' });
    const newest = Number(await revision());
    const { page, context } = await visit(browser, service, { hash: `/rules/${id}/revisions` });
    await page
      .getByTestId('revisions')
      .locator(`[data-revision="${newest - 1}"]`)
      .click();
    await page.getByRole('button', { name: 'Restore…' }).click();
    await page.getByRole('dialog').getByRole('alert').getByText('its next run sends values to the devices').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click();
    await untilText(
      page.getByRole('dialog').last(),
      /Done, with warnings[\s\S]*The rule ran in shadow; the restored revision is live/,
    );
    await confirm(page, 'Close');
    await context.close();
  });

  test('a deleted rule is restored under its own number, disabled', async () => {
    await service.command('DELETE', `/rules/${id}`, { reason: 'not needed' });
    const { page, context } = await visit(browser, service, { hash: `/rules/${id}/revisions` });
    await page.getByText('This rule was deleted').waitFor();
    await page.getByRole('button', { name: 'Restore…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click();
    await expect.poll(async () => (await service.read(`/rules/${id}`)).status).toBe(200);
    expect((await service.read(`/rules/${id}`)).body['data']).toMatchObject({ id, enabled: false });
    await page.getByRole('link', { name: 'To the rule' }).waitFor();
    await context.close();
  });
});

describe.runIf(chromiumPath !== undefined)('a rule that is enabled', () => {
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

  test('[rules §4.5] what the service warns of stays until it is closed', async () => {
    const trigger_config = { type: 'interval', interval_ms: 120_000 };
    const made = await service.command('POST', '/rules', { name: 'Seldom' });
    const id = Number(made.body['data']?.['id']);
    await service.command('PUT', `/rules/${id}`, { trigger_config, flow_json: flow('soc < 100') });
    const { page, context, complaints } = await visit(browser, service, { hash: '/rules' });
    const row = page.locator('tr', { hasText: 'Seldom' });
    await row.getByRole('button', { name: 'Enable', exact: true }).click();
    await page.getByRole('button', { name: 'Enable the rule' }).click();
    await untilText(
      page.getByRole('dialog'),
      /Done, with warnings[\s\S]*Enabled “Seldom”\.[\s\S]*The rule writes power_setpoint of instance 4 no more often than every 120 s/,
    );
    await expect.poll(async () => (await service.read(`/rules/${id}`)).body['data']?.['enabled']).toBe(true);
    await confirm(page, 'Close');
    await untilText(row, /Disable/);
    await service.command('POST', `/rules/${id}/disable`);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[rules §1.6] in shadow: is enabled, seen and promoted in the console', async () => {
    const trigger_config = { type: 'interval', interval_ms: 500 };
    const made = await service.command('POST', '/rules', { name: 'Candidate' });
    const id = Number(made.body['data']?.['id']);
    await service.command('PUT', `/rules/${id}`, { trigger_config, flow_json: flow('soc < 100') });
    const { page, context, complaints } = await visit(browser, service, { hash: '/rules' });
    await page.getByRole('button', { name: 'More actions for Candidate' }).click();
    await page.getByRole('menuitem', { name: 'Enable in shadow' }).click();
    await untilText(page.getByRole('dialog'), /Nothing is sent to the devices/);
    await page.getByRole('dialog').getByRole('button', { name: 'Enable in shadow' }).click();
    await untilText(page.locator('main'), /in shadow/);
    await page.goto(`${service.base}/#/`);
    await untilText(page.locator('main'), /power_setpoint to 0 kW not sent: shadow/);
    await page.goto(`${service.base}/#/rules/${id}?panel=%22history%22`);
    await page.getByTestId('history').locator('button[data-outcome="acted"]').first().click();
    await untilText(page.getByTestId('run-details'), /not sent: shadow/);
    expect((await service.read('/points/4/action/1/ownership')).text).not.toContain('Candidate');

    await page.getByRole('button', { name: /More/ }).click();
    await page.getByRole('menuitem', { name: 'Promote' }).click();
    await untilText(page.getByRole('dialog'), /its writes go to the devices[\s\S]*battery · power_setpoint/);
    await page.getByRole('dialog').getByRole('button', { name: 'Promote the rule' }).click();
    await expect.poll(async () => (await service.read(`/rules/${id}`)).body['data']?.['mode']).toBe('live');
    await expect.poll(async () => (await service.read('/points/4/action/1/ownership')).text).toContain('Candidate');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[rules §1.4] a past run is drawn on the flow of its own revision, which is read-only', async () => {
    const rule = { name: 'Edited', description: '', trigger_config: { type: 'interval', interval_ms: 500 } };
    const [id = 0] = await installRules(service, [{ ...rule, flow_json: flow('soc < 100') }]);
    const newest = async () => {
      const { text } = await service.read(`/rules/${id}/history?limit=1`);
      return /"execution_id":"([0-9a-f-]+)"/.exec(text)?.[1];
    };
    await expect.poll(newest).toBeDefined();
    const run = await newest();
    await service.command('PUT', `/rules/${id}`, { flow_json: flow('soc < 99') });
    const { page, context, complaints } = await visit(browser, service);
    await openRule(page, service, id);
    const canvas = page.getByTestId('canvas');
    await untilText(canvas, /soc < 99/);
    await page.goto(`${service.base}/#/rules/${id}?panel=%22history%22&run=%22${run}%22`);
    await page.getByText('The canvas shows that revision').waitFor();
    await untilText(canvas, /soc < 100/);
    await untilText(canvas, /battery|soc =/);
    expect(await canvas.textContent()).not.toContain('soc < 99');
    await selectNode(page, 'decide');
    await page.keyboard.press('Delete');
    await untilText(canvas, /soc < 100/);
    expect(await page.getByTestId('dirty').getAttribute('data-dirty')).toBe('false');
    await page.getByRole('link', { name: 'Revisions' }).click();
    await page.getByTestId('revision').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
