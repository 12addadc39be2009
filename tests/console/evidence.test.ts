/// <reference lib="dom" />
/** The evidence for a rule, in a real browser: a run becomes a test, a backtest shows its agreement, shadow its report. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestService, waitFor } from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, demoFolders, installRules, launch, startDemo, visit } from './browser.ts';
import { choose, openRule, untilText } from './steps.ts';

const at = (step: number) => ({ x: 320 * step, y: 0 });
const stopAbove = (charge: number) => ({
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
        config: { branches: [{ name: 'full', when: `soc > ${charge}` }], wires: { full: ['stop'], else: ['end'] } },
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
/** As a date and time field takes it, in the time zone of the test's browser. */
const localTime = (ms: number): string =>
  new Date(ms).toLocaleString('sv-SE', { timeZone: 'Europe/Amsterdam' }).replace(' ', 'T');
const everySecond = { description: '', trigger_config: { type: 'interval', interval_ms: 1000 } };

describe.runIf(chromiumPath !== undefined)('the evidence for a rule', () => {
  let service: TestService;
  let browser: Browser;
  let [live, shadow] = [0, 0];
  const runs = async (id: number): Promise<number> => {
    const list = (await service.read(`/rules/${id}/history?limit=50`)).body['data']?.['list'];
    return Array.isArray(list) ? list.length : 0;
  };
  beforeAll(async () => {
    const folders = demoFolders();
    // A constant value is recorded once per interval.
    const site = readFileSync(join(folders.config, 'site.yaml'), 'utf8');
    folders.write('site.yaml', site.replace(/record_interval_ms: \d+/, 'record_interval_ms: 5000'));
    service = await startDemo(folders);
    [live = 0, shadow = 0] = await installRules(service, [
      { ...everySecond, name: 'Stop when full', flow_json: stopAbove(1) },
      { ...everySecond, name: 'Stop when fuller', flow_json: stopAbove(99) },
    ]);
    await service.command('POST', `/rules/${live}/enable`, {});
    await service.command('POST', `/rules/${shadow}/enable`, { mode: 'shadow' });
    for (const id of [live, shadow]) await waitFor(async () => ((await runs(id)) > 4 ? true : undefined), 20_000);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    service?.folders.remove();
  });
  const stored = async () => (await service.read(`/rules/${live}`)).body['data']?.['tests'];

  test('[rules §11.3] a run of the history is a test with one click; it is changed, and stored with a reason', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: `/rules/${live}?panel=%22history%22` });
    await page.getByTestId('history').locator('button[data-outcome="acted"]').first().click();
    await page.getByRole('link', { name: 'Make this a test' }).click();
    const panel = page.getByTestId('tests');
    await untilText(panel.getByTestId('summary'), /1 passed, 0 failed/);
    expect(page.url()).not.toContain('run=');
    const item = panel.locator('[data-test]').first();
    await untilText(item, /Run of/);
    expect(await violations(page)).toEqual([]);

    await item.getByLabel('Name').fill('full');
    const charge = item.getByLabel('battery · soc (%)');
    expect(Number(await charge.inputValue())).toBeGreaterThan(1);
    await charge.fill('0.5');
    await untilText(item, /Outcome: expected Acted, actual Nothing to do/);
    await item.getByRole('button', { name: 'Expect the actual result' }).click();
    await untilText(panel.getByTestId('summary'), /1 passed, 0 failed/);
    await charge.fill('');
    await untilText(item, /no usable value for soc/);
    await charge.fill('50');
    await item.getByLabel('Outcome').selectOption('acted');
    await item.getByLabel('battery · power_setpoint (kW)').fill('0');
    await item.getByLabel('Last decision').waitFor();
    await untilText(item, /expected else, actual full/);
    await item.getByRole('button', { name: 'Expect the actual result' }).click();
    await untilText(panel.getByTestId('summary'), /1 passed, 0 failed/);

    await panel.getByRole('button', { name: 'Add a test' }).click();
    await untilText(panel.getByTestId('summary'), /1 passed, 1 failed/);
    await panel.getByRole('button', { name: 'Expect the actual result' }).click();
    await untilText(panel.getByTestId('summary'), /2 passed, 0 failed/);
    await panel.locator('[data-test="New test"]').getByLabel('Name').fill('full');
    await untilText(panel, /Another test has this name/);
    expect(await panel.getByRole('button', { name: 'Save tests…' }).isDisabled()).toBe(true);
    await panel.getByRole('button', { name: 'Remove' }).last().click();
    expect(await stored()).toEqual([]);
    await panel.getByRole('button', { name: 'Save tests…' }).click();
    const dialog = page.getByRole('dialog');
    await untilText(dialog, /1 test, all passing/);
    await dialog.getByLabel('Reason').fill('from the history');
    await dialog.getByRole('button', { name: 'Save tests' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await stored()).toMatchObject([
      {
        name: 'full',
        given: [{ instance: 4, point_type: 'measurement', point: 1, value: 50 }],
        then: {
          outcome: 'acted',
          writes: [{ instance: 4, point: 1, value: 0 }],
          output: { node_id: 'decide', name: 'full' },
        },
      },
    ]);
    expect(await panel.getByRole('button', { name: 'Save tests…' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[rules §11.1] tests that somebody else has changed are not overwritten; a hundred are the maximum', async () => {
    const { page, context } = await visit(browser, service, { hash: `/rules/${shadow}/evidence` });
    const panel = page.getByTestId('tests');
    await panel.getByRole('button', { name: 'Add a test' }).click();
    await untilText(panel.getByTestId('summary'), /failed/);
    // Unsaved tests survive navigation to other pages.
    await page.getByRole('link', { name: 'Backtest' }).click();
    await page.getByTestId('backtest').waitFor();
    await page.getByRole('link', { name: 'Rules', exact: true }).click();
    await page.getByRole('heading', { name: 'Rules' }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Tests', exact: true }).click();
    await untilText(panel, /not saved/i);
    expect(await panel.locator('[data-test]').count()).toBe(1);
    const then = { outcome: 'no_action' };
    const listed = Array.from({ length: 99 }, (_, index) => ({ name: `test ${index}`, given: [], then }));
    await service.command('PUT', `/rules/${shadow}`, { tests: listed.slice(0, 1) });
    // The page has read the newer revision by now, as it does when its window is focused again.
    await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
    await untilText(panel.getByTestId('summary'), /revision [5-9]/);
    await panel.getByRole('button', { name: 'Save tests…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save tests' }).click();
    await untilText(page.getByRole('dialog'), /revision/);
    expect((await service.read(`/rules/${shadow}`)).body['data']?.['tests']).toHaveLength(1);

    await service.command('PUT', `/rules/${shadow}`, { tests: listed });
    const dialogs: string[] = [];
    page.once('dialog', (dialog) => {
      dialogs.push(dialog.type());
      void dialog.accept();
    });
    await page.reload();
    expect(dialogs).toEqual(['beforeunload']);
    const add = panel.getByRole('button', { name: 'Add a test' });
    await untilText(panel.getByTestId('summary'), /99 failed/);
    expect(await add.isDisabled()).toBe(false);
    await add.click();
    await untilText(panel.getByTestId('summary'), /100 failed|1 passed, 99 failed/);
    expect(await add.isDisabled()).toBe(true);
    await service.command('PUT', `/rules/${shadow}`, { tests: [] });
    await context.close();
  });

  test('[rules §10] a backtest shows first its agreement with the recorded runs, then the writes', async () => {
    const { page, context, complaints } = await visit(browser, service);
    await openRule(page, service, live);
    await page.getByRole('button', { name: /More/ }).click();
    await page.getByRole('menuitem', { name: 'Tests and trials' }).click();
    await page.getByRole('link', { name: 'Backtest' }).click();
    const panel = page.getByTestId('backtest');
    const result = panel.getByTestId('backtest-result');
    let runsOfPage = 0;
    const agreement = async (): Promise<string> => {
      // On a loaded machine a run may come late, or without its input. It is still in the last hour, but not in the last seconds.
      if (runsOfPage++ > 0) {
        await panel.getByRole('button', { name: 'Last hour' }).click();
        await panel.getByLabel('From').fill(localTime(Date.now() - 8000));
      }
      const answered = page.waitForResponse((response) => response.url().endsWith('/backtest'));
      await panel.getByRole('button', { name: 'Run backtest' }).click();
      await answered;
      await panel.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
      return await result.getByTestId('agreement').innerText();
    };
    await expect.poll(agreement, { timeout: 60_000, interval: 1000 }).toMatch(/^100 % \(\d+ of \d+ runs\)$/);
    await untilText(result, /^Rule: as stored\. Inputs: recorded values, from .+ to .+\.$/m);
    await untilText(result, /Acted: [1-9]/);
    await untilText(
      result.getByTestId('write'),
      /battery · power_setpoint \(kW\): writes: \d+, changes of the value listed: 1[\s\S]*0 kW/,
    );
    await untilText(result, /battery · soc \(%\): [\d.]+ %/);
    await untilText(result, /Full\? → full\s*[\d.]+ %/);
    const shown = await result.innerText();
    const [evaluations, acted, share] = [/(\d+) evaluations/, /Acted: (\d+)/, /Full\? → full\s*([\d.]+) %/].map(
      (each) => Number(each.exec(shown)?.[1]),
    );
    // The rule acts whenever it reads its input; shares are truncated to two decimals.
    expect(Math.abs(Number(share) - (100 * Number(acted)) / Number(evaluations))).toBeLessThanOrEqual(0.01);
    expect(await violations(page)).toEqual([]);
    await panel.getByLabel('Compare with').selectOption({ index: 1 });
    await panel.getByRole('button', { name: 'Run backtest' }).click();
    await untilText(result, /No difference from the compared revision/);

    await page.route('**/backtest', async (route) => {
      const response = await route.fetch();
      const told = (await response.text()).replace(/"unrecorded":\d+/, '"unrecorded":4');
      await route.fulfill({ response, body: told.replaceAll(/("point":"[^"]+","ratio":)[\d.]+/g, '$10.25') });
    });
    await panel.getByRole('button', { name: 'Run backtest' }).click();
    await untilText(result, /4 simulated runs have no recorded run beside them/);
    await untilText(result, /A recorded value is valid until the next one[\s\S]*25 %/);
    await page.unroute('**/backtest');

    await page.route('**/backtest', () => undefined);
    await panel.getByRole('button', { name: 'Run backtest' }).click();
    await panel.getByRole('button', { name: 'Stop' }).click();
    await untilText(panel, /Stopped\. No result was kept/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[rules §10.6] a backtest with a declared battery shows first how far it is from the recorded one', async () => {
    const { page, context, complaints } = await visit(browser, service, {
      hash: `/rules/${live}/evidence?part=%22backtest%22`,
    });
    const panel = page.getByTestId('backtest');
    await panel.getByLabel('Inputs').selectOption({ label: 'a battery that follows the rule' });
    const start = panel.getByRole('button', { name: 'Run backtest' });
    expect(await start.isDisabled()).toBe(true);
    await panel.getByLabel('Capacity (kWh)').fill('800');
    await panel.getByLabel('Maximum power (kW)').fill('250');
    await panel.getByLabel('Round-trip efficiency (0 to 1)').fill('0.9025');
    await panel.getByLabel('Initial charge (%)').fill('55');
    await choose(page, 'Battery setpoint', /power_setpoint/);
    await choose(page, 'State of charge', /soc/);
    await choose(page, 'Load', /^load · active_power/);
    await choose(page, 'PV', /^pv · active_power/);
    await choose(page, 'Grid power (optional)', /^grid · active_power/);
    expect(await violations(page)).toEqual([]);
    const result = panel.getByTestId('backtest-result');
    // The state of charge is constant: its next row comes with the recording interval.
    const error = async (): Promise<string> => {
      await panel.getByRole('button', { name: 'Last hour' }).click();
      await start.click();
      return result.getByTestId('plant-error').innerText();
    };
    await expect
      .poll(error, { timeout: 30_000, interval: 1000 })
      .toMatch(/^At most [01](\.\d+)? % away from the recorded state of charge/);
    await untilText(result, /Imported\s*[\d.]+ kWh/);
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[rules §1.6] the report from shadow shows where a rule decides otherwise than another', async () => {
    const { page, context, complaints } = await visit(browser, service, {
      role: 'Viewer',
      hash: `/rules/${shadow}/evidence?part=%22shadow%22`,
    });
    const panel = page.getByTestId('shadow');
    expect(await panel.getByRole('button', { name: 'Compare' }).isDisabled()).toBe(true);
    await panel.getByLabel('Compare with').selectOption({ label: 'Stop when full' });
    await panel.getByRole('button', { name: 'Compare' }).click();
    await untilText(panel.getByTestId('shadow-equal'), /^0 % equal \(0 of \d+ moments\)$/);
    await untilText(panel, /battery · power_setpoint \(kW\)\s*nothing\s*0/);
    // The report names its rule and time range, also after the form has changed.
    const from = localTime(Date.parse('2020-01-01T00:00:00Z'));
    await panel.getByLabel('From').fill(from);
    await untilText(panel, /Compared with “Stop when full”, from .+ to .+\./);
    expect(await panel.innerText()).not.toContain('2020');
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
