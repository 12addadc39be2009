/// <reference lib="dom" />
/** The steps of a user in the console, by mouse and by keyboard. */

import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { TestService } from '../e2e/running-service.ts';

/** Opens the page of a rule completely: until then the list may be shown, whose buttons have the same names. */
export async function openRule(page: Page, service: TestService, id: number | undefined, search = ''): Promise<void> {
  await page.goto(`${service.base}/#/rules/${id}${search}`);
  await page.getByTestId('rule-form').waitFor();
}

/** Drags from the middle of one element to another, as slowly as a hand does. */
export async function drag(page: Page, from: Locator, to: { x: number; y: number } | Locator): Promise<void> {
  const start = await middle(from);
  const end = 'x' in to ? to : await middle(to);
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move(start.x + 8, start.y + 4, { steps: 2 });
  await page.mouse.move(end.x, end.y, { steps: 8 });
  await page.mouse.up();
}

async function middle(place: Locator): Promise<{ x: number; y: number }> {
  await place.waitFor();
  const box = await place.boundingBox();
  if (box === null) throw new Error('what should be dragged is not shown');
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** The dot of an output of a drawn node. */
export function output(page: Page, nodeId: string, name = 'default'): Locator {
  return page.locator(`.react-flow__handle.source[data-nodeid="${nodeId}"][data-handleid="${name}"]`);
}

export function inputOf(page: Page, nodeId: string): Locator {
  return page.locator(`.react-flow__handle.target[data-nodeid="${nodeId}"]`);
}

/** Opens a select by its label and chooses the option of this name. */
export async function choose(page: Page, label: string, option: string | RegExp, at = 0): Promise<void> {
  await page.getByLabel(label, { exact: true }).nth(at).click();
  await page.getByRole('option', { name: option }).first().click();
}

/** Presses Tab (or Shift-Tab) until the focused element has this role and name. */
export async function tabTo(
  page: Page,
  name: string | RegExp,
  key: 'Tab' | 'Shift+Tab' = 'Tab',
  presses = 120,
): Promise<void> {
  for (let count = 0; count < presses; count++) {
    await page.keyboard.press(key);
    const focused = await focusedName(page);
    if (typeof name === 'string' ? focused === name : name.test(focused)) return;
  }
  throw new Error(`nothing called ${String(name)} got the focus`);
}

/** The name of the focused element: its label, or its text. */
export function focusedName(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement)) return '';
    const label = element.getAttribute('aria-label');
    if (label !== null) return label;
    const by = element.id === '' ? null : document.querySelector(`label[for="${CSS.escape(element.id)}"]`);
    return (by?.textContent ?? element.textContent ?? '').replace(/\s*\*$/, '').trim();
  });
}

export async function confirm(page: Page, button: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: button, exact: true }).last().click();
  await dialog.waitFor({ state: 'detached' });
}

/** Stores the draft, waits for the service's answer with warnings, and closes it. (The dialog's cross is a Close too.) */
export async function saveWithWarnings(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Done, with warnings').waitFor();
  await confirm(page, 'Close');
}

/** Selects a node of the canvas. A click at a node while the page still moves would miss it. */
export async function selectNode(page: Page, id: string): Promise<void> {
  const node = page.locator(`[data-node="${id}"]`);
  const isSelected = async (): Promise<string | null> => {
    await node.click();
    return await node.getAttribute('data-selected');
  };
  await expect.poll(isSelected, { timeout: 30_000 }).toBe('true');
}

/** Waits until the text matches; fails with the last text that did not. */
export async function untilText(place: Locator, wanted: RegExp, deadlineMs = 30_000): Promise<void> {
  await expect.poll(() => place.innerText(), { timeout: deadlineMs }).toMatch(wanted);
}
