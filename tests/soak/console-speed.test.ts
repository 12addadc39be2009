/// <reference lib="dom" />
/** Measured response times of the console, and a flow of 150 nodes. Figures are printed. */
import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chromiumPath, installRules, launch, startDemo, visit } from '../console/browser.ts';
import { attempts, best, frames } from '../console/frames.ts';
import type { TestService } from '../e2e/running-service.ts';

const interactiveMsMax = 1500;
const openMsMax = 400;
const wholeMsMax = 1000;
const frameMsMax = 50;

/** Start, 148 nodes in ranks of four, end. */
function largeFlow(): Record<string, unknown> {
  const ranks = 37;
  const perRank = 4;
  const id = (rank: number, at: number): string => `n${rank}_${at}`;
  const rankOf = (rank: number): string[] => Array.from({ length: perRank }, (_, at) => id(rank, at));
  const nodes: unknown[] = [
    { id: 'start', type: 'start', position: { x: 0, y: 200 }, data: { config: { wires: { default: rankOf(0) } } } },
  ];
  for (let rank = 0; rank < ranks; rank++)
    for (let at = 0; at < perRank; at++) {
      const next = rank === ranks - 1 ? ['end'] : [id(rank + 1, at)];
      const assignments = [{ name: `v${rank}_${at}`, expression: `${rank} + ${at} * 2` }];
      nodes.push({
        id: id(rank, at),
        type: 'calculation',
        position: { x: 320 * (rank + 1), y: 140 * at },
        data: { label: `Step ${rank}.${at}`, config: { assignments, wires: { default: next } } },
      });
    }
  nodes.push({ id: 'end', type: 'end', position: { x: 320 * (ranks + 1), y: 200 }, data: { config: { wires: {} } } });
  return { nodes, edges: [] };
}

describe.runIf(chromiumPath !== undefined)('quick enough', () => {
  let service: TestService;
  let browser: Browser;
  beforeAll(async () => {
    service = await startDemo();
    await installRules(service, [
      {
        name: 'Large',
        description: '',
        trigger_config: { type: 'interval', interval_ms: 1000 },
        flow_json: largeFlow(),
      },
    ]);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    service?.folders.remove();
  });

  test('the list of rules is there, and answers, within 1.5 s', async () => {
    const { page, context } = await visit(browser, service);
    await page.getByRole('link', { name: 'Large' }).waitFor();
    const times: number[] = [];
    for (let count = 0; count < 3; count++) {
      const startedMs = performance.now();
      await page.reload();
      await page.getByRole('link', { name: 'Large' }).waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Commands' }).waitFor();
      times.push(performance.now() - startedMs);
      await page.keyboard.press('Escape');
    }
    const best = Math.min(...times);
    process.stderr.write(`interactive after ${times.map(Math.round).join(', ')} ms\n`);
    expect(best).toBeLessThan(interactiveMsMax);
    await context.close();
  });

  test('a flow of 150 nodes opens within 400 ms, is whole within 1 s, and is panned and dragged without a frame over 50 ms', async () => {
    const { page, context } = await visit(browser, service);
    await page.getByRole('link', { name: 'Large' }).waitFor();
    // The editor's code is loaded, as it is after the first rule opened.
    await page.getByRole('link', { name: 'Large' }).click();
    await page.locator('[data-node="end"]').waitFor();
    await page.getByRole('link', { name: 'All rules' }).click();
    await page.getByRole('link', { name: 'Large' }).waitFor();
    // The best of several: other work on the machine is not what is measured.
    const opens: number[] = [];
    const wholes: number[] = [];
    for (let count = 0; count < attempts; count++) {
      const opened = page.evaluate(openedAfterClick);
      const startedMs = performance.now();
      await page.getByRole('link', { name: 'Large' }).click();
      opens.push(await opened);
      await page.locator('[data-node="end"]').waitFor();
      wholes.push(performance.now() - startedMs);
      expect(await page.locator('[data-node]').count()).toBe(150);
      if (count === attempts - 1) break;
      await page.getByRole('link', { name: 'All rules' }).click();
      await page.getByRole('link', { name: 'Large' }).waitFor();
    }
    const [openMs, wholeMs] = [Math.min(...opens), Math.min(...wholes)];

    const pan = await best(() =>
      frames(page, async () => {
        await page.mouse.move(600, 700);
        await page.mouse.down();
        for (let step = 1; step <= 40; step++) await page.mouse.move(600 - step * 4, 700 - step);
        // And back, so that the nodes are where they were.
        for (let step = 39; step >= 0; step--) await page.mouse.move(600 - step * 4, 700 - step);
        await page.mouse.up();
      }),
    );
    // One that is in view: the flow opens at its start, at a readable size.
    const node = page.locator('[data-node="n0_1"]');
    let movedPx = Number.POSITIVE_INFINITY;
    const dragged = await best(async () => {
      const before = await placeOf(node);
      const longest = await frames(page, async () => {
        await page.mouse.move(before.x, before.y);
        await page.mouse.down();
        for (let step = 1; step <= 40; step++) await page.mouse.move(before.x + step * 2, before.y + step);
        await page.mouse.up();
      });
      const after = await placeOf(node);
      movedPx = Math.min(movedPx, after.x - before.x, 2 * (after.y - before.y));
      return longest;
    });
    process.stderr.write(
      `150 nodes: open ${Math.round(openMs)} ms, whole ${Math.round(wholeMs)} ms, slowest frame panning ${pan.toFixed(1)} ms, dragging ${dragged.toFixed(1)} ms\n`,
    );
    // The node followed each time, and the draft has its new place.
    expect(movedPx).toBeGreaterThan(60);
    expect(await page.getByTestId('dirty').innerText()).toBe('Unsaved changes');
    expect(openMs).toBeLessThan(openMsMax);
    expect(wholeMs).toBeLessThan(wholeMsMax);
    expect(pan).toBeLessThan(frameMsMax);
    expect(dragged).toBeLessThan(frameMsMax);
    await context.close();
  });
});

/** The middle of a node on the screen. */
async function placeOf(node: Locator): Promise<{ x: number; y: number }> {
  const box = await node.boundingBox();
  if (box === null) throw new Error('the node is not shown');
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Milliseconds from the next click until the part of the flow around its start is painted. */
function openedAfterClick(): Promise<number> {
  return new Promise((resolve) => {
    const onClick = (): void => {
      const startedMs = performance.now();
      const watch = new MutationObserver(() => {
        if (document.querySelector('[data-opened="true"] [data-node="start"]') === null) return;
        watch.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - startedMs)));
      });
      watch.observe(document, { childList: true, subtree: true, attributes: true });
    };
    document.addEventListener('click', onClick, { once: true, capture: true });
  });
}
