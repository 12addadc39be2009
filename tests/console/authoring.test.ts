/** Building a rule, from an empty canvas until it is disabled again, in a real browser on a real service: by mouse and by keyboard. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json, TestService } from '../e2e/running-service.ts';
import { chromiumPath, launch, startDemo, visit } from './browser.ts';
import { choose, confirm, drag, focusedName, inputOf, output, tabTo, untilText } from './steps.ts';

describe.runIf(chromiumPath !== undefined)('issue of a rule, drawn', () => {
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

  const idOf = (page: Page): number => Number(/#\/rules\/(\d+)/.exec(page.url())?.[1]);
  const stored = async (id: number): Promise<Json> => (await service.read(`/rules/${id}`)).body['data'] ?? {};

  test('by mouse: draw, be told of a wrong expression, fix it, save, enable, watch, read why, audit, disable', async () => {
    const { page, context, complaints } = await visit(browser, service, { role: null });
    await page.getByLabel('Access token').fill('not-a-token');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('rejected this token').waitFor();
    await page.getByLabel('Access token').fill(await service.token('Admin'));
    await page.getByRole('button', { name: 'Sign in' }).click();

    await page.getByRole('button', { name: 'New rule' }).click();
    await page.getByLabel('Name').fill('State of charge');
    await page.getByRole('button', { name: 'Create and draw' }).click();
    await page.getByTestId('canvas').waitFor();
    const id = await expect
      .poll(() => idOf(page))
      .toBeGreaterThan(0)
      .then(() => idOf(page));

    // Input: dragged from Start into empty space.
    const canvas = await page.getByTestId('canvas').boundingBox();
    if (canvas === null) throw new Error('the canvas is not shown');
    const at = (x: number, y: number) => ({ x: canvas.x + canvas.width * x, y: canvas.y + canvas.height * y });
    await drag(page, output(page, 'start'), at(0.3, 0.25));
    await page.getByRole('menuitem', { name: /^Input/ }).click();
    await page.getByRole('button', { name: 'Add a point' }).click();
    await choose(page, 'Point', 'battery · soc');
    await page.getByRole('button', { name: 'Add a parameter' }).click();
    await choose(page, 'Parameter', 'soc_upper');

    // Decision, with an invalid expression at first.
    await drag(page, output(page, 'input'), at(0.5, 0.6));
    await page.getByRole('menuitem', { name: /^Decision/ }).click();
    await page.getByLabel('Branch', { exact: true }).fill('room');
    await page.getByLabel('Taken when').fill('soc <');
    await untilText(page.getByTestId('problems'), /a number, variable or '\(' is expected/);
    expect(await page.getByRole('button', { name: 'Save…' }).isDisabled()).toBe(true);
    await page.getByLabel('Taken when').fill('');
    await page.getByLabel('Taken when').pressSequentially('soc < soc_u');
    await page.getByRole('option', { name: /soc_upper/ }).click();
    expect(await page.getByLabel('Taken when').inputValue()).toBe('soc < soc_upper');

    // Action on the branch; both lead to End.
    await drag(page, output(page, 'decision', 'room'), at(0.62, 0.2));
    await page.getByRole('menuitem', { name: /^Action/ }).click();
    await page.getByRole('button', { name: 'Add a write' }).click();
    await choose(page, 'Point', 'battery · power_setpoint');
    await page.getByLabel('Value', { exact: true }).fill('-12.5');
    await drag(page, output(page, 'action'), inputOf(page, 'end'));
    await drag(page, output(page, 'decision', 'else'), inputOf(page, 'end'));
    await untilText(page.getByTestId('problems'), /No errors in the drawing/);
    await untilText(
      page.getByTestId('sentence'),
      /Every second, with soc \(battery · soc\): if soc < soc_upper, set battery · power_setpoint to -12\.5 kW/,
    );

    await page.getByRole('button', { name: 'Save…' }).click();
    await untilText(page.getByRole('list', { name: 'Changes' }), /New node/);
    await untilText(page.getByRole('list', { name: 'The rule in words' }), /Every .*set battery · power_setpoint/);
    expect(await page.getByRole('dialog').innerText()).not.toContain('{');
    await confirm(page, 'Save');
    await untilText(page.getByTestId('dirty'), /No changes/);
    const rule = await stored(id);
    expect(rule['revision']).toBeGreaterThan(1);
    expect(rule['flow_json']?.['edges']).toHaveLength(5);

    await page.getByRole('button', { name: 'Enable', exact: true }).click();
    await untilText(page.getByRole('dialog'), /battery · power_setpoint/);
    await confirm(page, 'Enable the rule');
    await untilText(page.locator('[data-node="action"]'), /accepted/);
    await untilText(page.locator('[data-node="decision"]'), /true/);
    expect(await page.locator('[data-node="action"]').getAttribute('data-run')).toBe('visited');

    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByTestId('history').locator('button[data-outcome="acted"]').first().click();
    await untilText(page.getByTestId('run-details'), /Branch taken: room[\s\S]*-12\.5 kW[\s\S]*accepted/);
    await untilText(page.getByTestId('shown-run'), /Shown: the run of/);

    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByLabel('Resource', { exact: true }).first().fill(`automation-rule:${id}`);
    await page.keyboard.press('Enter');
    const events = page.getByTestId('audit-events');
    await events
      .locator('tr[data-action="automation.rule.update"][data-outcome="succeeded"]')
      .getByRole('button')
      .click();
    await untilText(page.getByTestId('audit-event'), /Changed a rule[\s\S]*given explicitly/);
    await page.getByRole('link', { name: 'Open the rule' }).click();

    await page.getByRole('button', { name: 'Disable', exact: true }).click();
    await confirm(page, 'Disable the rule');
    await expect.poll(async () => (await stored(id))['enabled']).toBe(false);
    // The wrong token at the beginning; nothing else.
    expect(complaints.filter((text) => !/status of 401/.test(text))).toEqual([]);
    await context.close();
  });

  test('by keyboard alone: the same rule, with the list instead of the canvas', async () => {
    const { page, context, complaints } = await visit(browser, service);
    const { keyboard } = page;
    await page.getByRole('button', { name: 'New rule' }).waitFor();
    await keyboard.press('Control+k');
    await keyboard.type('new rule');
    await keyboard.press('Enter');
    await page.getByLabel('Name').waitFor();
    await keyboard.type('State of charge by keyboard');
    await keyboard.press('Enter');
    await page.getByTestId('canvas').waitFor();
    const id = await expect
      .poll(() => idOf(page))
      .toBeGreaterThan(0)
      .then(() => idOf(page));

    const add = async (kind: string): Promise<void> => {
      await tabTo(page, 'Add node');
      await keyboard.press('Enter');
      await page.getByRole('menuitem', { name: kind }).waitFor();
      // A menu takes the focus a moment after it appears.
      const next = async (): Promise<string> => {
        await keyboard.press('ArrowDown');
        return focusedName(page);
      };
      await expect.poll(next, { interval: 20 }).toBe(kind);
      await keyboard.press('Enter');
      await page.getByTestId('inspector').getByRole('heading', { name: kind }).waitFor();
    };
    const pick = async (text: string): Promise<void> => {
      await keyboard.type(text);
      await page.getByRole('option').first().waitFor();
      // Opening the list resets the highlighted option in a zero-delay timer. Wait until it has run.
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 0)));
      await keyboard.press('ArrowDown');
      await keyboard.press('Enter');
    };
    await tabTo(page, 'Skip to the content');
    await keyboard.press('Enter');

    await add('Input');
    await tabTo(page, 'Add a point');
    await keyboard.press('Enter');
    await tabTo(page, 'Point', 'Shift+Tab');
    await pick('battery · soc');
    await add('Decision');
    await tabTo(page, 'Taken when');
    await keyboard.type('soc > 1 &&');
    await untilText(page.getByTestId('problems'), /is expected/);
    for (let count = 0; count < 3; count++) await keyboard.press('Backspace');
    await add('Action');
    await tabTo(page, 'Add a write');
    await keyboard.press('Enter');
    await tabTo(page, 'Point', 'Shift+Tab');
    await pick('battery · power_setpoint');
    await tabTo(page, 'Value');
    await keyboard.type('3');

    // Wires, chosen in each node's form; the list names the nodes.
    const open = async (title: string): Promise<void> => {
      await tabTo(page, `Edit ${title}`);
      await keyboard.press('Enter');
      // The forms of two nodes have fields of the same name: the earlier form must be gone.
      await page.getByTestId('inspector').getByRole('heading', { name: title }).waitFor();
    };
    await tabTo(page, 'Canvas', 'Shift+Tab');
    await keyboard.press('ArrowRight');
    await page.getByTestId('flow-list').waitFor();
    const wire = async (title: string, label: string, target: string): Promise<void> => {
      await open(title);
      await tabTo(page, label);
      await pick(target);
      await keyboard.press('Escape');
    };
    await wire('Action', 'Output next leads to', 'End');
    await wire('Decision', 'Output yes leads to', 'Action');
    await wire('Decision', 'Output else leads to', 'End');
    await wire('Input', 'Output next leads to', 'Decision');
    await wire('Start', 'Output next leads to', 'Input');
    await untilText(page.getByTestId('problems'), /No errors in the drawing/);
    await keyboard.press('Control+k');
    await keyboard.type('save');
    await keyboard.press('Enter');
    await page.getByRole('list', { name: 'Changes' }).waitFor();
    await expect.poll(() => focusedName(page)).toBe('Save');
    await keyboard.press('Enter');
    await untilText(page.getByTestId('dirty'), /No changes/);
    await keyboard.press('Control+k');
    await keyboard.type('enable');
    await keyboard.press('Enter');
    await page.getByRole('dialog').getByText('From now on').waitFor();
    await expect.poll(() => focusedName(page)).toBe('Enable the rule');
    await keyboard.press('Enter');
    await expect.poll(async () => (await stored(id))['enabled']).toBe(true);
    await expect
      .poll(async () => (await service.read(`/rules/${id}/history`)).body['data']?.['list']?.[0], { timeout: 30_000 })
      .toMatchObject({ outcome: 'acted', matched_condition: 'yes' });
    expect(complaints).toEqual([]);
    await context.close();
  });
});
