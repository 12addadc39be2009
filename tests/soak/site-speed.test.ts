/// <reference lib="dom" />
/** Measured times of an operator's pages: the first page of 500 points, zooming a trend, a table of 4096 points that all change. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { historyLimits } from '../../src/historian/limits.ts';
import { openHistorian } from '../../src/historian/open-historian.ts';
import { quality } from '../../src/site/quality.ts';
import { type ModbusDevice, startModbusDevice } from '../../src/testing/modbus-server.ts';
import { chromiumPath, launch, visit } from '../console/browser.ts';
import { attempts, best, frames } from '../console/frames.ts';
import { startTestService, type TestFolders, type TestService, testFolders } from '../e2e/running-service.ts';

const firstPaintMsMax = 1000;
const frameMsMax = 1000 / 60;
const changeMs = 100;
const registers = 1024;
const recordedRows = 86_400;

/** Points of one device, polled ten times a second; several share a register. */
function siteOf(port: number, points: number): string {
  const lines = Array.from(
    { length: points },
    (_, index) =>
      `      - { id: ${index + 1}, name: power_${index + 1}, kind: measurement, unit: kW, channel: plc, address: { table: holding, register: ${index % registers}, type: uint16 }${index === 0 ? ', record: true' : ''} }`,
  );
  return `schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
  - { id: plc, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: ${changeMs}, timeout_ms: 1000, word_order: big }
instances:
  - id: 1
    name: plant
    points:
${lines.join('\n')}
`;
}

async function recordDay({ data }: TestFolders): Promise<void> {
  mkdirSync(data, { recursive: true });
  const historian = openHistorian(join(data, 'history.sqlite'), historyLimits, { standsMs: 0 });
  const endMs = Math.floor(systemClock.wallMs() / 1000) * 1000;
  await historian.append(
    Array.from({ length: recordedRows }, (_, index) => {
      const eventMs = endMs - (recordedRows - index) * 1000;
      return {
        series: { instance: 1, point: 1 },
        eventMs,
        ingestedMs: eventMs,
        value: 100 * Math.sin(index / 5000) + (index % 97),
        quality: quality.good,
      };
    }),
  );
  await historian.close();
}

describe.runIf(chromiumPath !== undefined)('the site is quick', () => {
  let device: ModbusDevice;
  let browser: Browser;
  const stops: (() => unknown)[] = [];
  const start = async (points: number, recorded = false): Promise<TestService> => {
    const folders = testFolders(siteOf(device.port, points));
    if (recorded) await recordDay(folders);
    const service = await startTestService(folders);
    stops.push(async () => {
      await service.stop();
      folders.remove();
    });
    return service;
  };

  beforeAll(async () => {
    device = await startModbusDevice();
    let turn = 0;
    let timer = systemClock.after(changeMs, change);
    function change(): void {
      turn++;
      for (let register = 0; register < registers; register++)
        device.holding.writeUInt16BE((register + turn) % 65_536, register * 2);
      timer = systemClock.after(changeMs, change);
    }
    stops.push(() => timer.cancel());
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    for (const stop of stops.toReversed()) await stop();
    await device?.stop();
  });

  test('with 500 points the first page is there within 1 s, and a trend of a day is zoomed at 60 frames a second', async () => {
    const service = await start(500, true);
    const { page, context } = await visit(browser, service);
    await page.getByRole('link', { name: 'Site', exact: true }).click();
    await page.getByText('Power now').waitFor();
    const times: number[] = [];
    for (let count = 0; count < attempts; count++) {
      const startedMs = performance.now();
      await page.reload();
      await page.getByText('Power now').waitFor();
      times.push(performance.now() - startedMs);
    }
    const painted = await page.evaluate(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    );
    const shown = Math.min(...times);
    process.stderr.write(
      `site of 500 points: first paint ${Math.round(painted)} ms, power balance ${times.map(Math.round).join(', ')} ms\n`,
    );
    await page.goto(`${service.base}/#/points/1:measurement:1`);
    await page.getByText('24 h', { exact: true }).click();
    await page.locator('.uplot').waitFor();
    const zoom = await best(async () => {
      const longest = await frames(page, () => dragAcross(page));
      await page.getByRole('button', { name: 'Show the whole range' }).click();
      await page.waitForTimeout(300);
      return longest;
    });
    process.stderr.write(`zooming into a day of ${recordedRows} rows: slowest frame ${zoom.toFixed(1)} ms\n`);
    expect(shown).toBeLessThan(firstPaintMsMax);
    expect(zoom).toBeLessThan(frameMsMax);
    await context.close();
  }, 120_000);

  test('a table of 4096 points that change ten times a second holds, at rest and while it is scrolled', async () => {
    const service = await start(4096);
    const { page, context } = await visit(browser, service);
    await page.getByRole('link', { name: 'Points', exact: true }).click();
    await page.getByText('4096 points').waitFor();
    const rows = await page.getByRole('row').count();
    const value = page.locator('[data-point="1:measurement:1"] td').nth(1);
    const seen = new Set<string | null>();
    const rest = await best(() =>
      frames(page, async () => {
        for (let look = 0; look < 20; look++) {
          seen.add(await value.textContent());
          await page.waitForTimeout(100);
        }
      }),
    );
    const scroll = await best(() =>
      frames(page, async () => {
        await page.mouse.move(600, 500);
        for (let step = 0; step < 40; step++) await page.mouse.wheel(0, 300);
        for (let step = 0; step < 40; step++) await page.mouse.wheel(0, -300);
        await page.waitForTimeout(200);
      }),
    );
    process.stderr.write(
      `table of 4096 points: ${rows} rows drawn, ${seen.size} values seen in ${attempts * 2} s, slowest frame at rest ${rest.toFixed(1)} ms, scrolling ${scroll.toFixed(1)} ms\n`,
    );
    expect(rows).toBeLessThan(100);
    expect(seen.size).toBeGreaterThan(attempts * 4);
    await page.getByLabel('Search points').fill('power_4096');
    await page.locator('[data-point="1:measurement:4096"]').waitFor();
    await context.close();
  }, 120_000);
});

/** Selects half of the chart, and waits until it is drawn. */
async function dragAcross(page: Page): Promise<void> {
  const box = await page.locator('.uplot .u-over').boundingBox();
  if (box === null) throw new Error('the trend is not shown');
  const [left, y] = [box.x + box.width / 4, box.y + box.height / 2];
  await page.mouse.move(left, y);
  await page.mouse.down();
  for (let step = 1; step <= 40; step++) await page.mouse.move(left + (step * box.width) / 80, y);
  await page.mouse.up();
  await page.getByRole('button', { name: 'Show the whole range' }).waitFor();
  await page.waitForTimeout(300);
}
