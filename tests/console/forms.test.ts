/// <reference lib="dom" />
/** The forms of nodes, in a real browser: errors when they are due, suggested names, functions with their help, guided conditions. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestService } from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, launch, startDemo, type Visit, visit } from './browser.ts';
import { choose, openRule, selectNode, untilText } from './steps.ts';

const at = (column: number) => ({ x: 260 * column, y: 0 });
const flow = {
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
      data: { config: { branches: [{ name: 'full', when: 'soc > 90' }], wires: { full: ['end'], else: ['end'] } } },
    },
    { id: 'end', type: 'end', position: at(3) },
  ],
  edges: [],
};

describe.runIf(chromiumPath !== undefined)('forms of nodes', () => {
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

  async function opened(node: string): Promise<Visit> {
    const made = await service.command('POST', '/rules', { name: `Forms ${Math.random()}` });
    const id = Number(made.body['data']?.['id']);
    const trigger_config = { type: 'interval', interval_ms: 1000 };
    const stored = await service.command('PUT', `/rules/${id}`, { trigger_config, flow_json: flow });
    expect(stored.status, stored.text).toBe(200);
    const visited = await visit(browser, service);
    await openRule(visited.page, service, id);
    await selectNode(visited.page, node);
    await visited.page.getByTestId('inspector').waitFor();
    return visited;
  }

  test('missing values have a prompt, and only after the field was visited', async () => {
    const { page, context, complaints } = await opened('read');
    const inspector = page.getByTestId('inspector');
    await inspector.getByRole('button', { name: 'Add a point' }).click();
    await untilText(page.getByTestId('problems'), /Choose a point\./);
    expect(await inspector.innerText()).not.toMatch(/Choose a point\.|Enter a name\.|must be/);
    const field = inspector.getByLabel('Point', { exact: true }).nth(1);
    await field.focus();
    await field.press('Tab');
    await untilText(inspector, /Choose a point\./);
    expect(await inspector.innerText()).not.toMatch(/whole number/);
    // The panel leads to the field, which then shows the error.
    await page
      .getByTestId('problems')
      .getByRole('button', { name: /Enter a name\./ })
      .click();
    await untilText(inspector, /Enter a name\./);
    expect(await violations(page)).toEqual([]);
    await choose(page, 'Point', /load · active_power/, 1);
    await untilText(page.getByTestId('problems'), /No errors|warning/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a misspelt name or function is answered with the one that is meant, and one click uses it', async () => {
    const { page, context, complaints } = await opened('decide');
    const when = page.getByLabel('Taken when');
    const problems = page.getByTestId('problems');
    await when.fill('sco > 90');
    await untilText(problems, /did you mean soc\?/);
    await when.fill('histeresis(sco, 90, 80) == 1');
    await untilText(problems, /did you mean hysteresis\?/);
    await problems.getByRole('button', { name: 'Fix: Use “hysteresis”' }).click();
    await untilText(problems, /did you mean soc\?/);
    expect(await violations(page)).toEqual([]);
    await problems.getByRole('button', { name: 'Fix: Use “soc”' }).click();
    await untilText(problems, /No errors/);
    expect(await when.inputValue()).toBe('hysteresis(soc, 90, 80) == 1');
    // Each fix is one undo step.
    await page.getByRole('button', { name: 'Undo' }).click();
    await untilText(problems, /did you mean soc\?/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('completion shows arguments and help of a function, and so does the field while its arguments are typed', async () => {
    const { page, context, complaints } = await opened('decide');
    const when = page.getByLabel('Taken when');
    await when.fill('');
    await when.pressSequentially('hys');
    const option = page.getByRole('option', { name: /hysteresis\(x, on_above, off_below\)/ });
    await untilText(option, /1 above the first, 0 below the second/);
    await option.click();
    await when.pressSequentially('soc, max(80, 70), ');
    await untilText(page.getByTestId('function-help'), /^hysteresis\(x, on_above, off_below\): 1 above/);
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a condition is put together from point, comparison, value, release and duration', async () => {
    const { page, context, complaints } = await opened('decide');
    await page.getByRole('button', { name: 'Build a condition…' }).click();
    const builder = page.getByTestId('condition-builder');
    await choose(page, 'Compared', /^soc · battery · soc/);
    // The threshold is dragged across the last 24 hours.
    const chart = builder.getByTestId('threshold-chart');
    await chart.waitFor();
    const place = await chart.boundingBox();
    if (place === null) throw new Error('the chart is not shown');
    await page.mouse.move(place.x + 50, place.y + place.height / 2);
    await page.mouse.down();
    const value = builder.getByLabel('Value (%)');
    const first = Number(await value.inputValue());
    await page.mouse.move(place.x + 60, place.y + place.height / 2 - 20, { steps: 4 });
    await page.mouse.up();
    expect(first).toBeGreaterThan(0);
    await expect.poll(async () => Number(await value.inputValue())).toBeGreaterThan(first);
    await choose(page, 'Holds when it is', 'below');
    await builder.getByLabel('Value (%)').fill('40');
    await untilText(builder.getByTestId('built-condition'), /^soc < 40$/);
    await builder.getByLabel('Releases at (%)').fill('35');
    await untilText(builder, /Enter a release value above the value\./);
    expect(await builder.getByRole('button', { name: 'Use this condition' }).isDisabled()).toBe(true);
    await builder.getByLabel('Releases at (%)').fill('45');
    await builder.getByLabel('For seconds').fill('60');
    expect(await violations(page)).toEqual([]);
    await builder.getByRole('button', { name: 'Use this condition' }).click();
    expect(await page.getByLabel('Taken when').inputValue()).toBe('held(hysteresis(-soc, -40, -45) == 1, 60)');
    await untilText(page.getByTestId('problems'), /No errors/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a link to a node opens the rule with its form', async () => {
    const { page, context, complaints } = await opened('decide');
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy a link to this node' }).click();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const other = await context.newPage();
    await other.goto(link);
    await untilText(other.getByTestId('inspector'), /Branches, tried in order/);
    expect(await other.locator('[data-node="decide"]').getAttribute('data-selected')).toBe('true');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('copying a link works without the clipboard API, as over plain HTTP, and a refusal by the browser is shown', async () => {
    const { page, context, complaints } = await opened('decide');
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    await page.getByRole('button', { name: 'Copy a link to this node' }).click();
    await page.getByText('Copied', { exact: true }).waitFor();
    const label = page.getByLabel('Label', { exact: true });
    await label.fill('');
    await label.press('Control+v');
    expect(await label.inputValue()).toBe(`${page.url().split('?')[0]}?node=%22decide%22`);
    await page.evaluate(() => Object.defineProperty(document, 'execCommand', { value: () => false }));
    await page.getByRole('button', { name: 'Copy a link to this node' }).click();
    await page.getByText('The browser did not allow copying.').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
