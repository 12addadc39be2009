/// <reference lib="dom" />
/** A run that failed, in a real browser: at the node where it failed, in the list of nodes and in the header, with the reason. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestService } from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, installRules, launch, startDemo, visit } from './browser.ts';
import { openRule, untilText } from './steps.ts';

const at = (step: number) => ({ x: 320 * step, y: 0 });
const flow = (when: string, value: string) => ({
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
      data: { config: { branches: [{ name: 'full', when }], wires: { full: ['write'], else: ['end'] } } },
    },
    {
      id: 'write',
      type: 'action',
      position: at(3),
      data: { config: { writes: [{ instance: 4, point: 1, value }], wires: { default: ['end'] } } },
    },
    { id: 'end', type: 'end', position: at(4) },
  ],
  edges: [],
});
const everySecond = { description: '', trigger_config: { type: 'interval', interval_ms: 1000 } };

describe.runIf(chromiumPath !== undefined)('[rules §7.4] a run that failed', () => {
  let service: TestService;
  let browser: Browser;
  let [notFinite, outOfRange] = [0, 0];
  beforeAll(async () => {
    service = await startDemo();
    [notFinite = 0, outOfRange = 0] = await installRules(service, [
      { ...everySecond, name: 'Divides', flow_json: flow('1 / (soc - soc) > 1', '0') },
      { ...everySecond, name: 'Exceeds', flow_json: flow('soc > 0', 'soc * 1000') },
    ]);
    for (const id of [notFinite, outOfRange]) await service.command('POST', `/rules/${id}/enable`, {});
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    service?.folders.remove();
  });

  test('is red at the node where it ended, which leads nowhere, and says why there and in the header', async () => {
    const { page, context, complaints } = await visit(browser, service);
    await openRule(page, service, notFinite);
    const node = page.locator('[data-node="decide"]');
    await untilText(node, /A value in decide is not a finite number/);
    expect(await node.getAttribute('data-run')).toBe('failed');
    expect(await page.locator('[data-node="write"]').getAttribute('data-run')).toBe('passed');
    await untilText(page.getByTestId('last-trouble'), /Failed .*: A value in decide is not a finite number/);
    expect(await page.locator('[data-node="read"]').getAttribute('data-run')).toBe('visited');
    expect(await violations(page)).toEqual([]);
    await page.getByText('List', { exact: true }).click();
    await untilText(page.getByTestId('flow-list'), /A value in decide is not a finite number/);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByTestId('last-trouble').waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('is red at a write that was refused, with the reason beside the write', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, outOfRange);
    const node = page.locator('[data-node="write"]');
    await untilText(node, /refused: the value is outside the point’s range/);
    expect(await node.getAttribute('data-run')).toBe('failed');
    await untilText(page.getByTestId('last-trouble'), /Failed .*1 of 1 actions failed/);
    expect(await page.locator('[data-node="decide"]').getAttribute('data-run')).toBe('visited');
    await context.close();
  });
});
