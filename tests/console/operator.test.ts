/// <reference lib="dom" />
/** The site at a glance and under manual control, in a real Chromium: live values, a trend, an override, its release, by keyboard too. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { wholeList } from '../../src/api/page.ts';
import { fillModels } from '../../src/devices/sunspec/model-registers.ts';
import { startFaultDevice } from '../../src/testing/fault-device.ts';
import { startMqttBroker } from '../../src/testing/mqtt-broker.ts';
import {
  editorFlow,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestService,
  testFolders,
  virtualSite,
  waitFor,
} from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, installRules, launch, startDemo, visit } from './browser.ts';
import { choose, untilText } from './steps.ts';

/** Not among the types of the DOM library. */
interface LayoutShift extends PerformanceEntry {
  readonly value: number;
  readonly sources: readonly { readonly node: Node | null }[];
}

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
    expect((await service.read('/overrides')).body['data']).toEqual(wholeList([]));
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([]);
    await context.close();
  });

  test('the balance is computed from the points: each flow with its direction, and the unmetered rest', async () => {
    const { page, context, complaints } = await visit(browser, service, { role: 'Viewer' });
    await page.getByRole('link', { name: 'Site', exact: true }).click();
    const feeder = (name: string) =>
      page.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) });
    await feeder('load').getByText('consumes').waitFor();
    const decisions = page.getByRole('region', { name: 'Last decisions' });
    await decisions
      .getByText(/“.+”: .*battery power_setpoint to -?[\d.]+ kW/)
      .first()
      .waitFor();
    expect(await feeder('load').getAttribute('data-direction')).toBe('out');
    await feeder('grid')
      .getByText(/imports|exports|no flow/)
      .waitFor();
    await feeder('battery').getByText('%').waitFor();
    expect(await page.getByRole('listitem').filter({ hasText: 'irradiance' }).count()).toBe(0);
    await page.getByTestId('rest').getByText('no flow').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[points §8.3] a value that is pushed as too old replaces the one that was read, and the balance leaves it out', async () => {
    const { page, context, complaints } = await visit(browser, service, { role: 'Viewer' });
    let isAway = false;
    let push: (message: object) => void = () => undefined;
    await page.routeWebSocket(/\/ws$/, (socket) => {
      const server = socket.connectToServer();
      push = (message) => socket.send(JSON.stringify(message));
      socket.onMessage((message) => server.send(message));
      server.onMessage((message) => {
        if (!isAway || !message.toString().includes('point_values')) socket.send(message);
      });
    });
    await page.reload();
    await page.getByRole('link', { name: 'Site', exact: true }).click();
    const load = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: 'load', exact: true }) });
    await load.getByText('consumes').waitFor();
    await page.getByText('No rule or point needs attention.').waitFor();
    await page.getByTestId('rest').waitFor();
    isAway = true;
    const point = { instance: 2, point_type: 'measurement', point: 1 };
    const stale = { ...point, value: null, quality: 'stale', observed_at: '2026-07-11T10:00:00Z' };
    push({ type: 'point_values', data: [stale] });
    await load.getByText('too old').waitFor();
    expect(await load.getAttribute('data-direction')).toBe('unknown');
    expect(await page.getByTestId('rest').count()).toBe(0);
    expect(await page.getByText('No rule or point needs attention.').count()).toBe(0);
    isAway = false;
    await load.getByText('consumes').waitFor();
    await page.getByTestId('rest').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[points §8.4] the page of a point shows its rules, and an instant of its trend leads to the run of that instant', async () => {
    const { page, context, complaints } = await visit(browser, service, {
      role: 'Viewer',
      hash: '/points/4:measurement:1',
    });
    const rules = page.getByRole('region', { name: 'Rules' });
    await rules.getByRole('link', { name: 'Battery charge management' }).waitFor();
    await rules.getByText('thresholds: < 20 %').waitFor();
    await page.getByTestId('marks').getByText('Click an instant').waitFor();
    await page.locator('.uplot .u-over').click({ position: { x: 300, y: 80 } });
    await page.getByTestId('instant').getByText(/^At /).waitFor();
    // The chart covers the whole hour, although the service has run for seconds only.
    await page.getByTestId('instant').getByText('No rule had run by then.').waitFor();
    // Earlier there was nothing; "later" returns to the present.
    expect(await page.getByRole('button', { name: 'Later' }).isDisabled()).toBe(true);
    for (let step = 0; step < 2; step++) await page.getByRole('button', { name: 'Earlier' }).click();
    await page.getByText('Nothing was recorded in this time.').waitFor();
    for (let step = 0; step < 2; step++) await page.getByRole('button', { name: 'Later' }).click();
    await page.locator('.uplot').waitFor();
    await page.getByRole('button', { name: 'Zoom in' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Show the whole range' }).click();
    // By keyboard the time is typed.
    await page.getByLabel('Instant').fill('2020-01-01T00:00:00');
    await page.getByTestId('instant').getByText('No rule had run by then.').waitFor();
    await page.getByLabel('Instant').fill('2100-01-01T00:00:00');
    const run = page.getByTestId('instant').getByRole('link', { name: 'Battery charge management' });
    const link = await run.getAttribute('href');
    await run.click();
    await page.getByTestId('run-details').waitFor();
    expect(link).toContain('panel=history&run=');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('trends of other points are drawn below, in one address with their span, and saved as one table', async () => {
    const { page, context, complaints } = await visit(browser, service, {
      role: 'Viewer',
      hash: '/points/4:measurement:1?range=day',
    });
    const shown = page.getByTestId('compared');
    const field = page.getByRole('combobox', { name: 'Compare with…' });
    await choose(page, 'Compare with…', 'load active_power');
    await shown.getByText('load active_power').waitFor();
    await page.keyboard.type('power_setpoint');
    await page.getByRole('option', { name: 'battery power_setpoint' }).click();
    await expect.poll(() => shown.count()).toBe(2);
    expect(await field.inputValue()).toBe('');
    await field.click();
    expect(await page.getByRole('option', { name: 'load active_power', exact: true }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await oneCursorForAll(page);
    expect(await violations(page)).toEqual([]);

    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    expect(saved.suggestedFilename()).toMatch(/^trend-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d[.]000Z[.]csv$/);
    const [head, ...rows] = readFileSync(await saved.path(), 'utf8')
      .trimEnd()
      .split('\r\n');
    expect(head).toMatch(
      /^time,battery soc mean \[%\],.*,load active_power max \[kW\],battery power_setpoint mean \[kW\],/,
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.every((row) => row.split(',').length === 10)).toBe(true);

    // The address of a view: zoomed, with the same points.
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.waitForURL(/from=\d+&to=\d+/);
    const address = page.url();
    await page.goto('about:blank');
    await page.goto(address);
    await page.getByRole('button', { name: 'Show the whole range' }).waitFor();
    await shown.getByText('load active_power').waitFor();
    await shown.filter({ hasText: 'load active_power' }).getByRole('button', { name: 'Remove' }).click();
    await expect.poll(() => shown.count()).toBe(1);
    expect(decodeURIComponent(page.url())).toContain('with=4:action:1');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('an actuator is compared with the inputs of a rule that writes it', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: '/points/4:action:1' });
    await page.getByRole('button', { name: 'Compare with its inputs: Battery charge management' }).click();
    const shown = page.getByTestId('compared');
    await expect
      .poll(() => shown.getByRole('heading').allTextContents())
      .toEqual(['battery soc, %', 'load active_power, kW', 'pv active_power, kW', 'genset active_power, kW']);
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('at most five points are compared, and one that is not of the site is named', async () => {
    const keys = ['1:measurement:1', '2:measurement:1', '3:measurement:1', '5:measurement:1', '7:measurement:9'];
    const { page, context, complaints } = await visit(browser, service, {
      hash: `/points/4:measurement:1?with=${encodeURIComponent(keys.join())}`,
    });
    const shown = page.getByTestId('compared');
    await shown.getByText('7:measurement:9 is not a point of this site.').waitFor();
    expect(await shown.count()).toBe(5);
    const full = page.getByPlaceholder('At most 5 points beside this one');
    expect(await full.isDisabled()).toBe(true);
    await shown.last().getByRole('button', { name: 'Remove' }).click();
    await page.getByPlaceholder('Compare with…').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a run of long ago opens from its link, whatever has run since', async () => {
    const list = async (query: string) =>
      (await service.read(`/rules/1/history?${query}`)).body['data']?.['list'] as unknown as { execution_id: string }[];
    // More than the console lists.
    for (let run = 0; run < 55; run++) await service.command('POST', '/rules/1/execute', {});
    await expect.poll(async () => (await list('limit=100')).length).toBeGreaterThan(55);
    const first = (await list('limit=100')).at(-1);
    const { page, context } = await visit(browser, service, {
      role: 'Viewer',
      hash: `/rules/1?run=%22${first?.execution_id}%22`,
    });
    await page.getByTestId('run-details').waitFor();
    await context.close();
  });

  test('[points §7.2] an override until a time counts down; a limit bounds the actuator; both are given back', async () => {
    const { page, context, complaints } = await visit(browser, service, {
      role: 'Engineer',
      hash: '/points/3:action:1',
    });
    await page.getByRole('button', { name: 'Override' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Value in kW').fill('120');
    await dialog.getByText('until', { exact: true }).click();
    await dialog.getByLabel('Reason').fill('until the shift ends');
    const submit = dialog.getByRole('button', { name: 'Override', exact: true });
    await dialog.getByLabel(/Until \(/).fill('2020-01-01T00:00:00');
    expect(await submit.isDisabled()).toBe(true);
    const end = await page.evaluate(() => {
      const at = new Date(Date.now() + 2 * 3600 * 1000);
      return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
    });
    await dialog.getByLabel(/Until \(/).fill(end);
    await submit.click();
    await page.getByText('pv power_limit is overridden.').waitFor();
    const countdown = page.getByTestId('countdown');
    expect(await countdown.textContent()).toMatch(/^(02:00:0\d|01:59:5\d)$/);
    const before = await countdown.textContent();
    await expect.poll(() => countdown.textContent()).not.toBe(before);
    await page.getByRole('button', { name: 'Limit', exact: true }).click();
    const least = dialog.getByLabel('At least, in kW');
    await dialog.getByLabel('Reason').fill('grid operator called');
    expect(await dialog.getByRole('button', { name: 'Limit', exact: true }).isDisabled()).toBe(true);
    // Too many digits: nothing is left of the range of 0 to 280 kW but its end.
    await least.fill('1000');
    await untilText(dialog, /This limit holds the actuator at 280 kW\./);
    await least.fill('10');
    await expect.poll(() => dialog.getByText('This limit holds').count()).toBe(0);
    await dialog.getByLabel('At most, in kW').fill('100');
    await page.keyboard.press('Enter');
    await page.getByText('pv power_limit is limited.').waitFor();
    await expect.poll(() => page.getByTestId('value').textContent()).toBe('100 kW');
    expect(await countdown.count()).toBe(2);
    for (const left of [1, 0]) {
      await page.getByRole('button', { name: 'Release' }).first().click();
      await dialog.getByRole('button', { name: 'Release' }).click();
      await expect.poll(() => countdown.count()).toBe(left);
    }
    expect((await service.read('/overrides')).body['data']).toEqual(wholeList([]));
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[points §8.5] devices: each channel with its state, its last reading and its traffic', async () => {
    const { page, context, complaints } = await visit(browser, service, { role: 'Viewer' });
    await page.getByRole('link', { name: 'Devices', exact: true }).click();
    const plant = page.locator('[data-channel="plant"]');
    await plant.getByText('online', { exact: true }).waitFor();
    await plant.getByText(/[1-9]\d* read, 0 failed/).waitFor();
    await plant.getByText(/\d+ sent, \d+ failed, \d+ dropped because they were too late/).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a channel whose driver exchanges nothing offers no scan', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: '/devices' });
    await page.getByRole('button', { name: 'Inspect plant' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The driver simulated exchanges nothing with a device').waitFor();
    expect(await dialog.getByRole('button', { name: 'Scan' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('[points §8.6] a scan reads the requested table, registers and unit', async () => {
    const device = await startFaultDevice();
    device.bank(9).set('input', 30_010, 4711);
    const folders = testFolders(`schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels: [{ id: meter, driver: modbus-tcp, host: 127.0.0.1, port: ${device.port}, unit_id: 1, poll_interval_ms: 1000, timeout_ms: 500, word_order: big }]
instances:
  - id: 1
    name: meter
    points:
      - { id: 1, name: power, kind: measurement, unit: W, channel: meter, address: { table: holding, register: 5, type: uint16 } }
`);
    const own = await startTestService(folders);
    try {
      const { page, context, complaints } = await visit(browser, own, { role: 'Engineer', hash: '/devices' });
      await page.getByRole('button', { name: 'Inspect meter' }).click();
      const dialog = page.getByRole('dialog');
      const scan = dialog.getByRole('button', { name: 'Scan' });
      await dialog.getByLabel('Table').selectOption('input registers');
      for (const odd of ['65536', '', '0.5']) {
        await dialog.getByLabel('First register').fill(odd);
        await expect.poll(() => scan.isDisabled()).toBe(true);
      }
      await dialog.getByLabel('First register').fill('30000');
      await dialog.getByLabel('Registers', { exact: true }).fill('20');
      await dialog.getByLabel('Unit').fill('8');
      await scan.click();
      await dialog.getByText('None of the input registers 30000 to 30019 answered.').waitFor();
      await dialog.getByLabel('Unit').fill('9');
      await scan.click();
      await dialog.getByText('1 of the input registers 30000 to 30019 answered.').waitFor();
      expect(await violations(page)).toEqual([]);
      await dialog
        .getByRole('row', { name: /input 30010 1267 4711/ })
        .getByRole('checkbox')
        .check();
      await dialog.getByRole('button', { name: 'Add 1 point…' }).click();
      // The unit differs from that of the channel, so the address includes it.
      await untilText(dialog.getByLabel(/Changes to site\.yaml from line/), /unit_id: 9[\s\S]*register: 30010/);
      expect(complaints).toEqual([]);
      await context.close();
    } finally {
      await own.stop();
      await device.close();
      folders.remove();
    }
  });

  test('[points §8.6] the device dialog shows requests with raw answers or messages, and scans models', async () => {
    const device = await startFaultDevice();
    const broker = await startMqttBroker();
    const topic = `cellar/${'shelf-'.repeat(20)}relay`;
    fillModels(device.bank(1), 1, 40_000, [
      { model: 1, values: { Mn: 'Example' } },
      { model: 103, values: { W: 4200, W_SF: 0 } },
    ]);
    const folders = testFolders(`schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
  - { id: inverter, driver: sunspec, host: 127.0.0.1, port: ${device.port} }
  - { id: broker, driver: mqtt, url: "mqtt://127.0.0.1:${broker.port}" }
instances:
  - id: 1
    name: inverter
    points:
      - { id: 1, name: power, kind: measurement, unit: kW, channel: inverter, address: { point: W } }
      - { id: 2, name: maker, kind: measurement, unit: "1", channel: inverter, address: { point: Mn } }
  - id: 2
    name: cellar
    points:
      - { id: 1, name: relay, kind: measurement, unit: "1", channel: broker, address: { topic: ${topic}, path: $.on } }
`);
    const own = await startTestService(folders);
    try {
      const { page, context, complaints } = await visit(browser, own, { role: 'Engineer' });
      await page.getByRole('link', { name: 'Devices', exact: true }).click();
      const dialog = page.getByRole('dialog');
      await broker.publish(topic, '{"on":true,"source":"button"}');
      await page.getByRole('button', { name: 'Inspect broker' }).click();
      const message = dialog.getByRole('row', { name: `message ${topic} {"on":true,"source":"button"}` });
      await message.waitFor();
      // A long topic leaves room for the payload.
      const [cell, frame] = await Promise.all([message.getByRole('cell').last().boundingBox(), dialog.boundingBox()]);
      const right = (box: typeof cell): number => (box?.x ?? 0) + (box?.width ?? 0);
      expect(right(cell)).toBeLessThan(right(frame));
      await dialog.getByText('1 good, 0 without a usable value, 0 not confirmed').waitFor();
      expect(await dialog.getByRole('button', { name: 'Scan' }).count()).toBe(0);
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('button', { name: 'Inspect inverter' }).click();
      await dialog
        .getByText(/read holding \d+\.\.\d+ of unit 1/)
        .first()
        .waitFor();
      await dialog.getByRole('button', { name: 'Scan' }).click();
      await dialog.getByRole('row', { name: /103 inverter, three phase W 4200 W/ }).waitFor();
      await dialog.getByRole('row', { name: /1 common Mn Example/ }).waitFor();
      // Chosen, named, shown as lines of the file, applied: only the channel reconnects.
      await dialog.getByRole('checkbox', { name: /103 inverter, three phase W/ }).check();
      await dialog.getByRole('button', { name: 'Add 1 point…' }).click();
      await dialog.getByRole('combobox', { name: 'Instance', exact: true }).selectOption('1 inverter');
      const name = dialog.getByRole('textbox', { name: /Name of 103/ });
      await name.fill('');
      await expect.poll(() => dialog.getByRole('button', { name: 'Add and apply' }).isDisabled()).toBe(true);
      await name.fill('active_power');
      await untilText(dialog.getByLabel(/Changes to site\.yaml from line/), /\+.*active_power/);
      expect(await violations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Add and apply' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('link', { name: 'Points', exact: true }).click();
      await page.locator('[data-point="1:measurement:3"]').getByText('4200 W').waitFor();
      await page.locator('[data-point="1:measurement:2"]').getByText('Example').waitFor();
      await page.locator('[data-point="1:measurement:2"]').getByText('good').waitFor();
      // Edits of the file are shown, and applied by a click; those that need a restart say so.
      const file = join(folders.config, 'site.yaml');
      const text = readFileSync(file, 'utf8');
      const renamed = text.replace('name: active_power', 'name: ac_power');
      writeFileSync(file, renamed.replace(/(name: ac_power[^}]*unit: "?)W/, '$1kW'));
      await page.getByRole('link', { name: 'Devices', exact: true }).click();
      await page.getByText('site.yaml has changed: 1 changed channel; 1 changed point.').waitFor();
      // Its unit changes too: before the reload, the page says what that means for rules and history.
      await page
        .getByText(/the meaning of values changes: 1:measurement:3 \(inverter ac_power\): unit kW instead of W/)
        .waitFor();
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByText('Applied the changes to site.yaml.').waitFor();
      await expect.poll(() => page.getByText('site.yaml has changed').count()).toBe(0);
      writeFileSync(file, text.replace('id: s,', 'id: t,'));
      await page.getByText(/cannot be applied to the running service: id has changed: restart/).waitFor();
      expect(complaints).toEqual([]);
      await context.close();
    } finally {
      await own.stop();
      await device.close();
      await broker.stop();
      folders.remove();
    }
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
    // The cleared alarm of an earlier override may still be listed.
    await row.getByText('active', { exact: true }).waitFor();
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
    const changes = page.getByRole('table', { name: 'Changes in the last 24 hours' });
    await changes.getByRole('cell', { name: 'work on the feeder' }).waitFor();
    const id = String(held.body['data']?.['override_id']);
    await service.command('DELETE', `/overrides/${id}`);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('every page names itself, its site and the alarms that nobody acknowledged, as soon as they occur', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: '/rules', role: 'Engineer' });
    const waiting = async (): Promise<number> =>
      (await service.read('/alarms')).text.split('-unacknowledged"').length - 1;
    // The test before left it shelved, and its override may have ended within the last second: only a normal alarm is raised anew.
    await service.command('POST', '/alarms/override-active/unshelve');
    await expect
      .poll(async () => {
        await service.command('POST', '/alarms/override-active/acknowledge');
        const { list } = (await service.read('/alarms')).body['data'] as unknown as {
          list: { id: string; state: string }[];
        };
        return list.find(({ id }) => id === 'override-active')?.state ?? 'normal';
      })
      .toBe('normal');
    const before = await waiting();
    const title = (count: number, name: string): string => `${count === 0 ? '' : `(${count}) `}${name} · Demo plant`;
    await expect.poll(() => page.title()).toBe(title(before, 'Rules'));
    await page.getByRole('banner').getByText('Demo plant').waitFor();
    // From here on nothing is read again: what changes was pushed.
    await page.route('**/alarms', (route) => route.abort());
    const body = { value: 5, for_seconds: 600, reason: 'by hand' };
    const held = await service.command('POST', '/points/4/action/1/override', body);
    await expect.poll(() => page.title()).toBe(title(before + 1, 'Rules'));
    const link = page.getByRole('link', { name: `Alarms , ${before + 1} not acknowledged` });
    await link.waitFor();
    await service.command('POST', '/alarms/override-active/acknowledge');
    await expect.poll(() => page.title()).toBe(title(before, 'Rules'));
    await service.command('DELETE', `/overrides/${String(held.body['data']?.['override_id'])}`);
    await page.unrouteAll({ behavior: 'wait' });
    // A link by keyboard leads into the page, not to the top of everything.
    await page.getByRole('link', { name: 'Battery charge management' }).first().focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.title()).toBe(title(before, 'Battery charge management'));
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('content');
    expect(complaints.filter((text) => !text.includes('ERR_FAILED'))).toEqual([]);
    await context.close();
  });

  test.each([1440, 390])(
    'what an actuator shows stays in its place while the rest is read, %i pixels wide',
    async (width) => {
      const { page, context } = await visit(browser, service, { hash: null, width });
      await page.addInitScript(() => {
        const shifts: string[] = [];
        Object.assign(window, { shifts });
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries() as LayoutShift[]) {
            const moved = entry.sources.map(({ node }) => (node instanceof Element ? node.outerHTML.slice(0, 60) : ''));
            shifts.push(`${entry.value.toFixed(3)} ${moved.join(' ')}`);
          }
        }).observe({ type: 'layout-shift', buffered: true });
      });
      await page.goto(`${service.base}/#/points/4:action:1`);
      await page.getByRole('heading', { name: 'Held by' }).waitFor();
      await page.locator('.uplot').first().waitFor();
      await page.getByTestId('marks').waitFor();
      const shifts = await page.evaluate(() => (window as unknown as { shifts: string[] }).shifts);
      // What browsers call good is below 0.1.
      const all = shifts.reduce((sum, shift) => sum + Number.parseFloat(shift), 0);
      expect(all, shifts.join('\n')).toBeLessThan(0.1);
      await context.close();
    },
  );

  test('a parameter is changed, shown against the file, and reset; changes by others are shown too', async () => {
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
    // A colleague changes it: the page, untouched, shows the value in force.
    expect((await service.command('PUT', '/parameters/demand_limit', { value: 170 })).status).toBe(200);
    await row.getByText('170 kW').waitFor();
    await service.command('DELETE', '/parameters/demand_limit');
    await row.getByText('200 kW').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('the list shows the rules that use a point, those that read it and those that write it', async () => {
    const { page, context, complaints } = await visit(browser, service, { role: 'Viewer' });
    await page.getByRole('link', { name: 'Rules', exact: true }).click();
    const names = async (): Promise<string[]> =>
      (await page.getByRole('row').locator('td a').allInnerTexts()).map((text) => text.trim()).toSorted();
    await expect.poll(async () => (await names()).length).toBeGreaterThan(2);
    const all = await names();
    for (const [shown, path] of [
      ['genset · run', '/points/5/action/1/rules'],
      ['battery · soc', '/points/4/measurement/1/rules'],
    ] as const) {
      const { readers, writers } = (await service.read(path)).body['data'] as unknown as Record<
        'readers' | 'writers',
        { readonly name: string }[]
      >;
      const users = [...new Set([...readers, ...writers].map(({ name }) => name))].toSorted();
      expect(users.length).toBeGreaterThan(0);
      await choose(page, 'Uses point', shown);
      await expect.poll(names).toEqual(users);
    }
    await page.getByLabel('Search rules').fill('no such rule');
    await page.getByText('No rule matches “no such rule”.').waitFor();
    await page.getByLabel('Search rules').fill('');
    await page.getByRole('button', { name: 'Any point' }).click();
    await expect.poll(names).toEqual(all);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('tags in descriptions filter the list', async () => {
    const made = await service.command('POST', '/rules', { name: 'Pumps', description: 'By day only. #water #pumps' });
    const { id } = made.body['data'] as unknown as { readonly id: number };
    const { page, context, complaints } = await visit(browser, service, { hash: '/rules' });
    await untilText(page.locator(`[data-rule="${id}"]`), /By day only\.\s*#water #pumps/);
    const tags = page.getByRole('group', { name: 'Tags' });
    await tags.getByRole('button', { name: '#water (1)' }).click();
    await expect.poll(() => page.locator('[data-rule]').count()).toBe(1);
    expect(await page.getByLabel('Search rules').inputValue()).toBe('#water');
    expect(await violations(page)).toEqual([]);
    await tags.getByRole('button', { name: '#water (1)', pressed: true }).click();
    await expect.poll(() => page.locator('[data-rule]').count()).toBeGreaterThan(2);
    expect((await service.command('DELETE', `/rules/${id}`, {})).status).toBe(200);
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
    await expect.poll(() => value.textContent()).not.toBe(before);
    await page.getByLabel('Search points').fill('');
    await page.getByRole('link', { name: /^Alarms/ }).click();
    // The points have a filter of the same name.
    await page.getByRole('heading', { name: 'Alarms' }).waitFor();
    await page.getByText('All', { exact: true }).click();
    const compared = page.locator('[data-alarm="battery-low"] [data-compared]');
    await expect.poll(() => compared.textContent()).toMatch(/^below 20 %, now \d+(\.\d+)? %$/);
    expect(await page.getByRole('button', { name: /Shelve|Acknowledge/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'Points', exact: true }).click();
    await page.getByRole('link', { name: 'genset run' }).click();
    await page.getByText('Held by, last 24 hours').waitFor();
    expect(await page.getByRole('button', { name: 'Override' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('the trend of values that differ only by rounding is a flat line, and the page keeps working', async () => {
    const folders = testFolders(virtualSite.replace('unit: m,', 'unit: m, record: true,'));
    mkdirSync(folders.data);
    const at = (minutesAgo: number): string => new Date(Date.now() - minutesAgo * 60_000).toISOString();
    const rows = [`${at(30)},55`, `${at(20)},55.000000000000014`, `${at(10)},55`];
    writeFileSync(join(folders.config, 'level.csv'), `time,value\n${rows.join('\n')}\n`);
    const command = ['history', 'import', join(folders.config, 'level.csv'), '--point', '1:1'];
    expect(runCommand('setpoint', command, serviceEnvironment(folders)).status).toBe(0);
    const still = await startTestService(folders);
    const { page, context, complaints } = await visit(browser, still, { role: 'Viewer' });
    await page.goto(`${still.base}/#/points/1:measurement:1`);
    await page.locator('.uplot .u-over').waitFor();
    // The chart also redraws with another range.
    await page.getByText('24 h', { exact: true }).click();
    await page.getByRole('img', { name: /level over 24 h/ }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
    await still.stop();
    folders.remove();
  });

  test('a site without devices says how to connect one; one that was added is applied on the page', async () => {
    const folders = testFolders(
      'schema: svc.site.v1\nsite: { id: new, name: New, timezone: UTC }\nchannels: []\ninstances: []\n',
    );
    const empty = await startTestService(folders);
    onTestFinished(async () => {
      await empty.stop();
      folders.remove();
    });
    const { page, context, complaints } = await visit(browser, empty, { hash: '/points' });
    const hint = page.getByText('This site has no points yet. Connect a device first:');
    await hint.getByRole('link', { name: 'Devices' }).click();
    await page.getByText(/Add a device of a template with setpoint site add/).waitFor();
    expect(await violations(page)).toEqual([]);
    const add = [
      'site',
      'add',
      'abb-b23',
      '--name',
      'meter',
      '--set',
      'host=127.0.0.1',
      '--set',
      'port=9',
      '--confirmed',
    ];
    expect(runCommand('setpoint', add, serviceEnvironment(folders)).status).toBe(0);
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('cell', { name: 'modbus-tcp' }).waitFor();
    await page.goto(`${empty.base}/#/points`);
    await page
      .getByRole('link', { name: /active_power/ })
      .first()
      .waitFor();
    expect([await hint.count(), complaints]).toEqual([0, []]);
    await context.close();
  });

  test('names as long as they may be stay within the page, on a phone and on a desk', async () => {
    const [word, channel] = [
      'Wärmepumpenanlage_Gebäudeteil_Nord_'.repeat(4).slice(0, 128),
      'gateway-of-the-north-'.repeat(7).slice(0, 128),
    ];
    const folders = testFolders(`schema: svc.site.v1
site: { id: long, name: Long, timezone: UTC }
channels:
  - { id: ${channel}, driver: modbus-tcp, host: 127.0.0.1, port: 9, unit_id: 1, poll_interval_ms: 1000, timeout_ms: 300, word_order: big }
parameters: { ${'maximum_power_'.repeat(5).slice(0, 63)}: { value: 1, unit: kW } }
instances:
  - id: 1
    name: ${word}
    points:
      - { id: 1, name: ${word}, kind: measurement, unit: kW, channel: ${channel}, sign_convention: positive_import, address: { table: holding, register: 1, type: float32 } }
      - { id: 1, name: ${word}, kind: action, unit: kW, min: 0, max: 9, channel: ${channel}, address: { table: holding, register: 3, type: float32 } }
`);
    const own = await startTestService(folders);
    onTestFinished(async () => {
      await own.stop();
      folders.remove();
    });
    const [id = 0] = await installRules(own, [
      {
        name: word.slice(0, 120),
        description: 'Long',
        flow_json: editorFlow(),
        trigger_config: { type: 'interval', interval_ms: 1000 },
      },
    ]);
    await waitFor(async () => (await own.read('/alarms')).text.includes('offline') || undefined, 20_000);
    const order = { value: 5, for_seconds: 600, reason: 'Instandhaltung'.repeat(30) };
    expect((await own.command('POST', '/points/1/action/1/override', order)).status).toBe(200);
    const pages = [
      '/',
      '/points',
      '/points/1:measurement:1',
      '/points/1:action:1',
      '/devices',
      '/alarms',
      '/rules',
      `/rules/${id}`,
    ];
    for (const width of [390, 1440]) {
      const { page, context } = await visit(browser, own, { width, hash: null });
      for (const hash of pages) {
        await page.goto(`${own.base}/#${hash}`);
        await page
          .getByText(/Wärmepumpenanlage|gateway-of/)
          .first()
          .waitFor();
        await expect.poll(() => page.evaluate(outside), { message: `${width} ${hash}` }).toEqual([]);
      }
      await context.close();
    }
  });
});

/** Three charts of a day of which the last seconds are recorded: the same time in all, and values only where some are drawn. */
async function oneCursorForAll(page: Page): Promise<void> {
  const charts = page.locator('.uplot .u-over');
  await expect.poll(() => charts.count()).toBe(3);
  const width = (await charts.first().boundingBox())?.width ?? 0;
  const legend = (row: string) => page.locator(`.u-legend .u-series:${row} .u-value`).allTextContents();
  for (const [x, value] of [
    [300, /^–$/],
    [width - 1, /\d/],
  ] as const) {
    await charts.first().hover({ position: { x, y: 80 } });
    await expect.poll(() => legend('first-child')).toEqual(Array(3).fill(expect.stringMatching(/\d\d:\d\d/)));
    await expect.poll(async () => new Set(await legend('first-child')).size).toBe(1);
    await expect.poll(() => legend('nth-child(2)')).toEqual(Array(3).fill(expect.stringMatching(value)));
  }
}

/** Texts that extend past the right edge of the page, and neither scroll nor end in an ellipsis. */
function outside(): string[] {
  const isMeant = (element: Element | null): boolean => {
    if (element === null || element === document.body) return false;
    const { overflowX, textOverflow } = getComputedStyle(element);
    return /auto|scroll/.test(overflowX) || textOverflow === 'ellipsis' || isMeant(element.parentElement);
  };
  return [...document.querySelectorAll('#root *')]
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !isMeant(element))
    .map((element) => `${element.tagName} ${element.textContent?.slice(0, 40)}`);
}
