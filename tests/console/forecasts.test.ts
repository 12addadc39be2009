/// <reference lib="dom" />
/** Issued forecasts in the console [data-processing §8]: each beside what was recorded, their score, and their explanation. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DerivedData } from '../../src/api/processing.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { formatTimestamp } from '../../src/base/timestamp.ts';
import { openForecastDatabase } from '../../src/processing/results/forecast-database.ts';
import { ResultStore } from '../../src/processing/results/result-store.ts';
import { startTestService, type TestService, testFolders, waitFor } from '../e2e/running-service.ts';
import { chromiumPath, demoFolder, launch, visit } from './browser.ts';

const cadenceMs = 900_000;
const hourMs = 3_600_000;
const steps = 96;
const kind = { taskId: 'demo.load-day-ahead', taskRevision: 1, bindingId: 'demo.plant', bindingRevision: 1 };

function derivedAt(asOfMs: number): DerivedData {
  return {
    schema: 'svc.derived-data.v1',
    result_id: idOf(asOfMs),
    request_id: 'request',
    task: { id: kind.taskId, revision: 1, kind: 'forecast' },
    binding: { id: kind.bindingId, revision: 1 },
    accepted_at: formatTimestamp(asOfMs),
    expires_at: formatTimestamp(asOfMs + hourMs),
    input_digest: `sha256:${'0'.repeat(64)}`,
    processing_status: 'produced',
    processor: {
      id: 'setpoint-forecaster',
      version: '0.1.0',
      contract: 'svc.data-processing.forecast.v1',
      details: {
        explanation: {
          models: [{ name: 'ridge-24', share: 0.7 }],
          inputs: [{ name: 'past values', share: 0.9 }],
          level_shift: { since: formatTimestamp(asOfMs - 12 * hourMs), factor: 1.5, probability: 0.6 },
          lost_inputs: [{ name: '<b>rain</b>', steps: 4, how: 'missing' }],
        },
      },
    },
    quality: {
      input_watermark: formatTimestamp(asOfMs),
      missing_ratio: 0,
      max_gap_seconds: 0,
      live_tail_included: false,
      substituted_samples: 0,
      fallback_used: false,
    },
    warnings: ['LEVEL_SHIFT'],
    data: {
      schema: 'svc.data-processing.output.forecast.v1',
      kind: 'forecast',
      target: 'load',
      unit: 'kW',
      sign_convention: 'positive_consumption',
      cadence_seconds: 900,
      timestamp_semantics: 'interval_end',
      points: [],
    },
  };
}

function idOf(asOfMs: number): string {
  return `0190aee6-2139-7a87-8448-${asOfMs.toString(16).padStart(12, '0')}`;
}

/** Two days of forecasts, one an hour, of a plant in the demo's recorded history. */
async function keepForecasts(dataDir: string, newestMs: number): Promise<void> {
  mkdirSync(dataDir, { recursive: true });
  const database = await openForecastDatabase(join(dataDir, 'forecasts.sqlite'), systemClock, silentLog);
  const store = new ResultStore(database);
  const row = (value: number): Float64Array => new Float64Array(steps).fill(value);
  for (let back = 47; back >= 0; back--) {
    const asOfMs = newestMs - back * hourMs;
    await store.keep(
      {
        resultId: idOf(asOfMs),
        kind,
        asOfMs,
        keptMs: asOfMs,
        firstMs: asOfMs + cadenceMs,
        lastMs: asOfMs + steps * cadenceMs,
        steps,
        probabilities: [0.1, 0.5, 0.9],
        inputDigest: `sha256:${'0'.repeat(64)}`,
        outcome: {
          status: 'produced',
          derived: derivedAt(asOfMs),
          numbers: {
            value: row(200),
            quantiles: [row(20), row(200), row(350)],
            // The last value is far from any load, so the forecast is better at every time of the week.
            references: [row(-5000), row(150), row(200)],
          },
        },
      },
      0,
    );
  }
  await database.close();
}

/** The demo's configuration without schedules: a forecast issued during the test would add one to the list. */
function copyDemo(config: string): void {
  cpSync(demoFolder, config, { recursive: true });
  const routes = join(config, 'processing', 'routes.yaml');
  const [before, after] = [readFileSync(routes, 'utf8'), /^ *schedule:.*\n/gm];
  if (before.match(after)?.length !== 2) throw new Error('the demo has other schedules');
  writeFileSync(routes, before.replaceAll(after, ''));
}

describe.runIf(chromiumPath !== undefined)('issued forecasts', () => {
  const folders = testFolders('');
  const newestMs = Math.floor((Date.now() - 25 * hourMs) / cadenceMs) * cadenceMs;
  let service: TestService;
  let browser: Browser;
  beforeAll(async () => {
    await keepForecasts(folders.data, newestMs);
    copyDemo(folders.config);
    const env = { SVC_CONFIG_DIR: folders.config, SVC_LOG_LEVEL: 'info', SVC_FORECASTER_PORT: '0' };
    service = await startTestService(folders, env, 'start');
    browser = await launch();
    await waitFor(() => (service.logs().includes('demo history filled') ? true : undefined), 60_000);
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    folders.remove();
  });

  test('a score card, the newest forecast beside recorded values, and earlier ones by the slider', async () => {
    const { page, context, complaints } = await visit(browser, service, { width: 1440, hash: '/forecasts' });
    const kept = page.getByTestId('kept');
    const scores = page.getByTestId('scores');
    await scores.waitFor();
    const text = await scores.innerText();
    expect(text).toMatch(/Mean absolute error\s+[\d.]+ kW \([\d.]+ kW to [\d.]+ kW\)/);
    expect(text).toMatch(/Inside the band 0\.1-0\.9\s+\d+ %/);
    expect(text).toMatch(/Against the last value\s+9\d % smaller error/);
    expect(await scores.getByRole('img').getAttribute('aria-label')).toMatch(/^Share of recorded values in each tenth/);
    await kept.locator('.uplot').waitFor();
    // One row for a band; the median is the forecast. What appears below the cursor does not move the page.
    const legend = kept.locator('.u-legend');
    const before = await legend.boundingBox();
    const over = await kept.locator('.u-over').boundingBox();
    await kept.locator('.u-over').hover({ position: { x: Math.floor((over?.width ?? 0) * 0.9), y: 60 } });
    await legend.getByText('20 to 350 kW').waitFor();
    const rows = await legend.locator('tr:visible').allInnerTexts();
    expect(rows.map((row) => row.replaceAll(/\s+/g, ' '))).toEqual([
      expect.stringMatching(/^Interval ends at.*\d\d:\d\d$/),
      expect.stringMatching(/^forecast ?200 kW$/),
      expect.stringMatching(/^p10 to p90 ?20 to 350 kW$/),
      expect.stringMatching(/^recorded/),
    ]);
    expect((await legend.boundingBox())?.height).toBe(before?.height);
    expect(await kept.innerText()).toContain('48 of 48 in the last 14 days');
    // A processor's text is shown as plain text, whatever it contains.
    expect(await kept.getByTestId('explanation').innerText()).toMatch(
      /^Models: ridge-24 70 %\. Strongest inputs: past values 90 %\. The level changed about .*: × 1\.5\. Missing for part of the horizon: <b>rain<\/b>\.$/,
    );
    expect(await kept.innerText()).toContain('Expired');
    await kept.getByRole('button', { name: 'Show as a table' }).click();
    expect(await kept.getByRole('columnheader', { name: 'recorded' }).count()).toBe(1);
    const recorded = await kept.locator('tbody tr td:nth-child(3)').allInnerTexts();
    expect(recorded.filter((cell) => cell !== '–').length).toBeGreaterThan(90);
    const slider = kept.getByRole('slider', { name: 'Issued forecast' });
    await slider.focus();
    for (let press = 0; press < 3; press++) await slider.press('ArrowLeft');
    await kept.getByText('45 of 48 in the last 14 days').waitFor();
    await slider.press('Home');
    await kept.getByText('1 of 48 in the last 14 days').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
