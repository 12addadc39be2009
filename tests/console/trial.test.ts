/** The page evaluates each demo rule as the service recorded it: same inputs, same path, same values. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { consoleCatalogue } from '../../console/src/editor/site-catalogue.ts';
import { evaluateTrial, prepareTrial } from '../../console/src/trial/evaluate.ts';
import { automation } from '../../src/api/automation.ts';
import { createClient } from '../../src/api/client.ts';
import { parseTopology } from '../../src/rules/parse.ts';
import { parseTrigger } from '../../src/rules/trigger/parse.ts';
import { type TestService, waitFor } from '../e2e/running-service.ts';
import { chromiumPath, installRules, launch, startDemo, visit } from './browser.ts';
import { untilText } from './steps.ts';

const runsWanted = 6;

describe('the page evaluates as the service does', () => {
  let service: TestService;
  let ids: number[];
  let browser: Browser | undefined;
  beforeAll(async () => {
    service = await startDemo();
    ids = await installRules(service);
    if (chromiumPath !== undefined) browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    service?.folders.remove();
  });

  async function clientOf() {
    const token = await service.token('Engineer');
    return createClient({ baseUrl: service.base, token: () => token });
  }

  test('every rule of the demo, run after run, with the memory that its functions gather', async () => {
    const client = await clientOf();
    const catalogue = consoleCatalogue((await client.call(automation.instances)).data.data);
    for (const id of ids) {
      const params = { id: String(id) };
      const rule = (await client.call(automation.get, { params })).data.data;
      const parsed = parseTopology(rule.nodes_json, catalogue);
      const trigger = rule.trigger_config === null ? null : parseTrigger(rule.trigger_config, catalogue);
      if (!parsed.ok || trigger?.ok === false) throw new Error(`${rule.name} does not parse`);
      // Whether the plant is changing right now depends on the hour that it replays.
      if (trigger?.trigger.type === 'on_change')
        for (let run = 0; run < runsWanted; run++) await service.command('POST', `/rules/${id}/execute`);
      const records = await waitFor(async () => {
        const { list } = (await client.call(automation.history, { params, query: { limit: '100' } })).data.data;
        return list.length >= runsWanted ? list.toReversed() : undefined;
      }, 60_000);
      const source = { id, revision: rule.revision, priority: rule.priority, cooldownMs: rule.cooldown_ms };
      const trial = prepareTrial({ ...source, trigger: trigger?.trigger ?? null }, parsed.topology, catalogue);
      for (const record of records) {
        const reads = [...parsed.topology.nodes.values()].flatMap((node) =>
          'variables' in node ? (node.variables ?? []) : [],
        );
        const values = new Map(
          reads.map((read) => [catalogue.point(read)?.index ?? -1, record.variable_values[read.name] ?? null]),
        );
        const atMs = Date.parse(record.started_at);
        const own = evaluateTrial(trial, { values, wallMs: atMs, monotonicMs: atMs });
        const told = `${rule.name}, ${record.started_at}`;
        expect(own.execution_path, told).toEqual(record.execution_path);
        expect(own.matched_condition, told).toBe(record.matched_condition);
        expect(own.variable_values, told).toEqual(record.variable_values);
        expect(own.node_details, told).toEqual(record.node_details);
        expect(
          own.actions_executed.map(({ value }) => value),
          told,
        ).toEqual(record.actions_executed.map(({ value }) => value));
      }
    }
  });

  test.runIf(chromiumPath !== undefined)('in the browser, on typed values, with nothing sent', async () => {
    if (browser === undefined) throw new Error('there is no browser');
    const { page, context, complaints } = await visit(browser, service, { hash: `/rules/${ids[0]}?panel=%22try%22` });
    const trial = page.getByTestId('trial');
    await untilText(trial, /sends no write and records nothing/);
    const sent: string[] = [];
    page.on('request', (request) => request.method() !== 'GET' && sent.push(`${request.method()} ${request.url()}`));
    await trial.getByLabel(/^soc /).fill('15');
    await trial.getByLabel(/^load /).fill('180');
    await trial.getByLabel(/^pv /).fill('30');
    await trial.getByRole('button', { name: 'Evaluate' }).click();
    await untilText(page.getByTestId('run-details'), /No usable value: genset/);
    await trial.getByLabel(/^genset /).fill('0');
    await trial.getByRole('button', { name: 'Evaluate' }).click();
    await untilText(page.getByTestId('run-details'), /Branch taken: critical[\s\S]*-40 kW[\s\S]*would be sent/);
    await untilText(page.getByTestId('shown-run'), /your trial\. Nothing was sent/);
    expect(await page.locator('[data-node="back_up"]').getAttribute('data-run')).toBe('visited');
    // Pointing at an expression shows the values it read.
    expect(
      await page
        .locator('[data-node="back_up"]')
        .getByTitle(/ = .*\)$/)
        .count(),
    ).toBeGreaterThan(0);
    expect(await page.locator('[data-node="store_surplus"]').getAttribute('data-run')).toBe('passed');
    await trial.getByRole('button', { name: 'Use current values' }).click();
    await expect.poll(() => trial.getByLabel(/^soc /).inputValue()).toMatch(/^5[0-9]/);
    expect(sent).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
