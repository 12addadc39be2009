/// <reference lib="dom" />
/** Wires, nodes and names on the canvas, in a real browser: each action is one undo step. */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestService } from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, launch, startDemo, type Visit, visit } from './browser.ts';
import { drag, inputOf, openRule, output, saveWithWarnings, untilText } from './steps.ts';

const at = (column: number, row = 0) => ({ x: 300 * column, y: 160 * row });
const node = (id: string, type: string, position: { x: number; y: number }, config: object) => ({
  id,
  type,
  position,
  data: { config },
});
const flow = {
  nodes: [
    node('start', 'start', at(0), { wires: { default: ['read'] } }),
    node('read', 'input', at(0.6), {
      variables: [{ name: 'soc', instance: 4, point_type: 'measurement', point: 1 }],
      wires: { default: ['decide'] },
    }),
    node('decide', 'decision', at(1.7), {
      branches: [
        { name: 'full', when: 'soc > 90' },
        { name: 'fuller', when: 'soc > 95' },
      ],
      wires: { full: ['stop'], fuller: ['stop'], else: ['end'] },
    }),
    node('stop', 'action', at(2.9), {
      writes: [{ instance: 4, point_type: 'action', point: 1, value: 'min(soc, 0)' }],
      wires: { default: ['end'] },
    }),
    node('end', 'end', at(4), { wires: {} }),
    node('spare', 'calculation', at(1, 2), {
      assignments: [{ name: 'half', expression: '1 / 2' }],
      wires: { default: [] },
    }),
  ],
  edges: [],
};

describe.runIf(chromiumPath !== undefined)('drawing', () => {
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

  /** A rule for each test, open in a page of its own. */
  async function opened(
    flow_json: object = flow,
    last = 'spare',
  ): Promise<Visit & { id: number; wires: () => Promise<string[]> }> {
    const made = await service.command('POST', '/rules', { name: `Drawing ${Math.random()}` });
    const id = Number(made.body['data']?.['id']);
    const stored = await service.command('PUT', `/rules/${id}`, {
      trigger_config: { type: 'interval', interval_ms: 1000 },
      flow_json,
    });
    expect(stored.status, stored.text).toBe(200);
    const visited = await visit(browser, service, { width: 1900 });
    await openRule(visited.page, service, id);
    await drawn(visited.page, last).waitFor();
    const wires = async (): Promise<string[]> => {
      const ids = await visited.page
        .locator('.react-flow__edge')
        .evaluateAll((edges) => edges.map((edge) => edge.getAttribute('data-id') ?? ''));
      return ids.toSorted();
    };
    return { ...visited, id, wires };
  }

  const drawn = (page: Page, id: string): Locator => page.locator(`[data-node="${id}"]`);
  const wire = (page: Page, id: string): Locator => page.locator(`.react-flow__edge[data-id="${id}"]`);
  /** A wire is symmetric: the middle of its box lies on it. */
  async function middleOf(page: Page, id: string): Promise<{ x: number; y: number }> {
    const box = await wire(page, id).locator('.react-flow__edge-path').boundingBox();
    if (box === null) throw new Error(`the wire ${id} is not drawn`);
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  }
  async function select(page: Page, id: string): Promise<void> {
    const { x, y } = await middleOf(page, id);
    await page.mouse.click(x, y);
    await page.getByRole('button', { name: 'Delete the wire' }).waitFor();
  }
  /** Saves; the spare node leads nowhere, which gives a warning. */
  async function save(page: Page): Promise<void> {
    await saveWithWarnings(page);
    await untilText(page.getByTestId('dirty'), /No changes/);
  }
  const before = [
    'decide:else>end',
    'decide:full>stop',
    'decide:fuller>stop',
    'read:default>decide',
    'start:default>read',
    'stop:default>end',
  ];
  const but = (gone: readonly string[], come: readonly string[] = []): string[] =>
    [...before.filter((id) => !gone.includes(id)), ...come].toSorted();

  test('a wire is selected and deleted: by its button, by the key, and without a mouse', async () => {
    const { page, context, complaints, wires } = await opened();
    await select(page, 'stop:default>end');
    await page.getByRole('button', { name: 'Delete the wire' }).click();
    await expect.poll(wires).toEqual(but(['stop:default>end']));
    await page.keyboard.press('Control+z');
    await expect.poll(wires).toEqual(before);

    await select(page, 'read:default>decide');
    await page.keyboard.press('Delete');
    await expect.poll(wires).toEqual(but(['read:default>decide']));
    await page.keyboard.press('Control+z');
    await expect.poll(wires).toEqual(before);

    const focusable = page.getByRole('group', { name: 'Wire from Decision, output else, to End' });
    await focusable.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Delete the wire' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await focusable.focus();
    await page.keyboard.press('Delete');
    await expect.poll(wires).toEqual(but(['decide:else>end']));
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a deleted node leaves no gap and is one step of undo; a decision that guards takes its wires along', async () => {
    const { page, context, wires } = await opened();
    await drawn(page, 'read').click();
    await page.keyboard.press('Delete');
    await drawn(page, 'read').waitFor({ state: 'detached' });
    const healed = but(['start:default>read', 'read:default>decide'], ['start:default>decide']);
    await expect.poll(wires).toEqual(healed);
    await page.keyboard.press('Control+z');
    await drawn(page, 'read').waitFor();
    await expect.poll(wires).toEqual(before);
    await untilText(page.getByTestId('dirty'), /No changes/);

    await drawn(page, 'decide').click();
    await page.keyboard.press('Delete');
    await expect.poll(wires).toEqual(['start:default>read', 'stop:default>end']);
    await context.close();
  });

  test('a node that is dropped on a wire is spliced in, in one step with the move', async () => {
    const { page, context, wires } = await opened();
    await drag(page, drawn(page, 'spare').getByText('Calculation'), await middleOf(page, 'start:default>read'));
    const spliced = but(['start:default>read'], ['start:default>spare', 'spare:default>read']);
    await expect.poll(wires).toEqual(spliced);
    await page.keyboard.press('Control+z');
    await expect.poll(wires).toEqual(before);
    await untilText(page.getByTestId('dirty'), /No changes/);

    await drag(page, drawn(page, 'stop').getByText('Action'), await middleOf(page, 'start:default>read'));
    await untilText(page.getByTestId('dirty'), /Not saved|Unsaved|changes/i);
    expect(await wires()).toEqual(before);
    await context.close();
  });

  test('a node is inserted into a wire, and added with the slash key after the selected one', async () => {
    const { page, context, complaints, wires } = await opened();
    await select(page, 'stop:default>end');
    await page.getByRole('button', { name: 'Insert a node' }).click();
    const menu = page.getByRole('menu', { name: 'Insert a node' });
    expect(await menu.getByRole('menuitem', { name: /^End/ }).count()).toBe(0);
    await menu.getByRole('menuitem', { name: /^Calculation/ }).click();
    const between = ['stop:default>calculation', 'calculation:default>end'];
    await expect.poll(wires).toEqual(but(['stop:default>end'], between));

    await drawn(page, 'spare').click();
    await page.keyboard.press('/');
    await page.getByRole('menu', { name: 'What follows?' }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(wires).toEqual(but(['stop:default>end'], [...between, 'spare:default>input']));
    // A slash typed in a field is just a slash.
    await page.getByLabel('Label').fill('');
    await page.getByLabel('Label').press('/');
    expect(await page.getByLabel('Label').inputValue()).toBe('/');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('selected nodes are copied with the wires between them, and pasted into this rule and another, as one step of undo', async () => {
    const { page, context, complaints, wires, id } = await opened();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const paste = (text: string) => page.evaluate((given) => navigator.clipboard.writeText(given), text);
    await drawn(page, 'decide').click();
    await drawn(page, 'stop').click({ modifiers: ['Control'] });
    await page.keyboard.press('Control+c');
    await page.getByText('Copied 2 nodes.').waitFor();
    await page.keyboard.press('Control+v');
    await page.getByText('Pasted 2 nodes.').waitFor();
    // The wire to the end is not copied, because the end is not.
    const between = ['decide_2:full>stop_2', 'decide_2:fuller>stop_2'];
    await expect.poll(wires).toEqual(but([], between));
    await page.keyboard.press('Control+z');
    await expect.poll(wires).toEqual(before);

    const copied = await page.evaluate(() => navigator.clipboard.readText());
    for (const text of ['not a flow', '{"nodes":[]}', '[1]']) {
      await paste(text);
      await page.keyboard.press('Control+v');
      await page.getByText('The clipboard does not contain a flow.').waitFor();
    }
    // A rule has one start; what is pasted into a field stays there.
    await paste(JSON.stringify({ nodes: [flow.nodes[0]] }));
    await page.keyboard.press('Control+v');
    await page.getByText('A rule has one start, and this rule already has one.').waitFor();
    await drawn(page, 'spare').click();
    await page.getByLabel('Label').focus();
    await page.keyboard.press('Control+v');
    expect(await page.getByLabel('Label').inputValue()).toContain('"start"');
    await page.keyboard.press('Control+z');
    expect(await wires()).toEqual(before);

    const other = await service.command('POST', `/rules/${id}/duplicate`, { name: 'Other' });
    await openRule(page, service, Number(other.body['data']?.['id']));
    await paste(copied);
    await drawn(page, 'spare').click();
    await page.keyboard.press('Control+v');
    await expect.poll(wires).toEqual(but([], between));
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('the button that fixes a problem shows its whole text', async () => {
    const { page, context } = await opened();
    for (const name of ['Remove the node', 'Move it first']) {
      const label = page.getByRole('button', { name: new RegExp(name) }).getByText(name, { exact: true });
      await label.waitFor();
      expect(await label.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    }
    await context.close();
  });

  test('a wire that would close a loop is refused with the reason', async () => {
    const { page, context, wires } = await opened();
    await drag(page, output(page, 'stop'), inputOf(page, 'read'));
    await page.getByText('This wire would close a loop').waitFor();
    expect(await wires()).toEqual(before);
    expect(await page.getByRole('menu').count()).toBe(0);
    await context.close();
  });

  test('arrow keys move the node in the draft, as one step of undo', async () => {
    const { page, context, id } = await opened();
    await drawn(page, 'spare').click();
    for (let step = 0; step < 4; step++) await page.keyboard.press('ArrowRight');
    await save(page);
    const place = async () => {
      const nodes = (await service.read(`/rules/${id}`)).body['data']?.['flow_json']?.['nodes'];
      return Array.isArray(nodes) ? nodes.find((other) => other?.id === 'spare')?.position : undefined;
    };
    expect(await place()).toEqual({ x: at(1, 2).x + 20, y: at(1, 2).y });
    await page.keyboard.press('Control+z');
    await save(page);
    await expect.poll(place).toEqual(at(1, 2));
    await context.close();
  });

  test('a branch keeps its wire when its name passes through that of another, and may not have it', async () => {
    const { page, context, wires } = await opened();
    await drawn(page, 'decide').click();
    const field = page.getByLabel('Branch', { exact: true }).nth(1);
    await field.press('End');
    await field.press('Backspace');
    await field.press('Backspace');
    await page.getByText('Another branch of this decision has this name.').waitFor();
    const passing = but(['decide:fuller>stop'], ['decide:fulle>stop']);
    expect(await wires()).toEqual(passing);
    await field.press('y');
    await expect.poll(wires).toEqual(but(['decide:fuller>stop'], ['decide:fully>stop']));
    await context.close();
  });

  test('a large flow opens at its start, and all of its nodes and wires follow', async () => {
    const steps = Array.from({ length: 60 }, (_, index) => `s${index}`);
    const step = (id: string, index: number) =>
      node(id, 'calculation', at(index + 1), {
        assignments: [{ name: `v${index}`, expression: '1 / 2' }],
        wires: { default: [steps[index + 1] ?? 'end'] },
      });
    const nodes = [
      node('start', 'start', at(0), { wires: { default: steps.slice(0, 1) } }),
      ...steps.map(step),
      node('end', 'end', at(61), { wires: {} }),
    ];
    const { page, context, wires, complaints } = await opened({ nodes, edges: [] }, 'end');
    await expect.poll(async () => (await wires()).length).toBe(61);
    expect(await page.locator('[data-node]').count()).toBe(62);
    const [start, first] = [await drawn(page, 'start').boundingBox(), await drawn(page, 's0').boundingBox()];
    const canvas = await page.getByTestId('canvas').boundingBox();
    for (const box of [start, first]) {
      expect(Number(box?.x)).toBeGreaterThan(Number(canvas?.x));
      expect(Number(box?.x) + Number(box?.width)).toBeLessThan(Number(canvas?.x) + Number(canvas?.width));
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('expressions follow the new name of a variable', async () => {
    const { page, context } = await opened();
    await drawn(page, 'read').click();
    const field = page.getByLabel('Variable', { exact: true });
    await field.fill('');
    await page.getByText('Enter a name.').waitFor();
    await field.pressSequentially('half_charge');
    await untilText(drawn(page, 'decide'), /half_charge > 90[\s\S]*half_charge > 95/);
    await untilText(drawn(page, 'stop'), /min\(half_charge, 0\)/);
    await untilText(drawn(page, 'spare'), /half = 1 \/ 2/);
    await untilText(page.getByTestId('problems'), /No errors|warning/);
    await context.close();
  });
});
