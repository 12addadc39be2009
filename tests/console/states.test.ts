/// <reference lib="dom" />
/** Failures are shown as they are, and no input is lost: conflict, reload, expiry, a service that stopped. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { issueToken } from '../../src/gateway/identity.ts';
import { signingKey } from '../../src/gateway/local-keys.ts';
import { ownPort } from '../../src/testing/own-port.ts';
import { runCommand, serviceEnvironment, type TestService } from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, demoFolders, demoRules, installRules, launch, startDemo, visit } from './browser.ts';
import { confirm, openRule, saveWithWarnings, selectNode, untilText } from './steps.ts';

describe.runIf(chromiumPath !== undefined)('nothing typed is lost', () => {
  let service: TestService;
  let browser: Browser;
  let ids: number[];
  const folders = demoFolders();
  beforeAll(async () => {
    // One of its tests starts it again where the page looks for it.
    service = await startDemo(folders, { SVC_HTTP_PORT: String(await ownPort()) });
    ids = await installRules(service);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    folders.remove();
  });

  const priority = (page: Page) => page.getByLabel('Priority', { exact: true });
  /** A pasted token belongs to its tab: the other one gets the same. */
  const signInLike = async (page: Page, other: Page): Promise<void> => {
    await other.goto(`${service.base}/#/`);
    const token = await page.evaluate(() => sessionStorage.getItem('setpoint.token') ?? '');
    await other.evaluate((text) => sessionStorage.setItem('setpoint.token', text), token);
    await other.reload();
  };

  test('a part that cannot be fetched says so in its own place; loading the page again helps, and keeps the draft', async () => {
    const { page, context } = await visit(browser, service);
    await page.route('**/assets/inspector-*.js', (route) => route.abort());
    await openRule(page, service, ids[0]);
    await priority(page).fill('7');
    await selectNode(page, 'level');
    await untilText(page.getByRole('alert'), /Could not load this part of the console/);
    await untilText(page.getByTestId('dirty'), /Unsaved changes/);
    await page.unroute('**/assets/inspector-*.js');
    await page.getByRole('button', { name: 'Reload the page' }).click();
    await selectNode(page, 'level');
    await page.getByTestId('inspector').waitFor();
    await page.getByRole('tab', { name: 'Rule' }).click();
    expect(await priority(page).inputValue()).toBe('7');
    await page.getByRole('button', { name: 'Undo' }).click();
    await context.close();
  });

  test('after an upgrade an open page offers to reload', async () => {
    const { page, context } = await visit(browser, service);
    await page.goto(`${service.base}/#/points`);
    const notice = page.getByRole('status').filter({ hasText: 'The service was upgraded' });
    let asked = 0;
    let delivered = (text: string): string => text;
    await page.route(`${service.base}/`, async (route) => {
      asked++;
      const response = await route.fetch();
      await route.fulfill({ response, body: delivered(await response.text()) });
    });
    /** Somebody comes back to the page, which then looks again. */
    const look = async () => {
      const before = asked;
      const comeBack = () => page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
      await expect.poll(async () => (await comeBack(), asked)).toBeGreaterThan(before);
    };
    for (const other of [null, '<p>the proxy does not reach the service</p>']) {
      delivered = (text) => other ?? text;
      await look();
      // The first answer is there before the second question.
      await look();
      expect(await notice.count()).toBe(0);
    }
    delivered = (text) => text.replace(/assets\/[\w-]+\.js/, 'assets/index-of-another-build.js');
    await look();
    await notice.waitFor();
    // The page may be asking again just now.
    await page.unrouteAll({ behavior: 'wait' });
    await notice.getByRole('button', { name: 'Reload the page' }).click();
    await page.getByRole('heading', { name: 'Points' }).waitFor();
    expect(await notice.count()).toBe(0);
    await context.close();
  });

  test('a number is kept as typed; an invalid number shows an error and does not change the draft', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, ids[0]);
    const before = await priority(page).inputValue();
    await priority(page).fill('');
    await page.keyboard.press('Tab');
    expect(await priority(page).inputValue()).toBe(before);
    await priority(page).fill('4294967296');
    await page.keyboard.press('Tab');
    // The last value is restored, and the error names the range.
    expect(await priority(page).inputValue()).toBe(before);
    await page.getByText('Enter a whole number from 0 to 4294967295.').waitFor();
    await priority(page).fill('41');
    await page.keyboard.press('ArrowUp');
    expect(await priority(page).inputValue()).toBe('42');
    const interval = page.getByLabel('Interval (milliseconds)');
    await interval.fill('soon');
    await page.getByText('Enter a whole number of at least 1.').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Save…' }).isDisabled()).toBe(true);
    for (let left = 0; left < 5 && (await page.getByTestId('dirty').innerText()) !== 'No changes'; left++)
      await page.getByRole('button', { name: 'Undo' }).click();
    expect(await interval.inputValue()).toBe('1000');
    expect(await priority(page).inputValue()).toBe(before);
    await context.close();
  });

  test('a document that was not touched is stored again byte for byte', async () => {
    const { page, context } = await visit(browser, service);
    const before = (await service.read(`/rules/${ids[0]}`)).text;
    const flowOf = (text: string): string => /"flow_json":(.*),"nodes_json"/.exec(text)?.[1] ?? '';
    await openRule(page, service, ids[0]);
    await page.locator('[data-node="level"]').waitFor();
    // One node moved there and back: the flow is sent whole, unchanged in meaning.
    await page.getByRole('button', { name: 'Arrange' }).click();
    await untilText(page.getByTestId('dirty'), /Unsaved changes/);
    await page.getByRole('button', { name: 'Undo' }).click();
    await untilText(page.getByTestId('dirty'), /No changes/);
    const sent: string[] = [];
    page.on('request', (request) => request.method() === 'PUT' && sent.push(request.postData() ?? ''));
    await priority(page).fill('11');
    await page.getByRole('button', { name: 'Save…' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    // Peak shaving writes the battery too: the service warns of it.
    await untilText(page.getByRole('dialog'), /writes power_setpoint of instance 4 too/);
    await confirm(page, 'Close');
    expect(sent).toEqual(['{"priority":11,"confirmed":true}']);

    await page.getByRole('button', { name: 'File' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'Export to a file' }).click();
    const file = await (await download).path();
    await page.getByTestId('import-file').setInputFiles(file);
    await untilText(page.locator('body'), /rule in the file is now your draft/);
    // The file equals what is stored: the same rule, and no change.
    await untilText(page.getByTestId('dirty'), /No changes/);
    await page.getByTestId('flow-list').or(page.getByTestId('canvas')).first().waitFor();
    await selectNode(page, 'level');
    await page.getByLabel('Note').fill('x');
    await page.getByLabel('Note').fill('');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByLabel('Label', { exact: true }).fill('Which level is it?');
    await saveWithWarnings(page);
    const body = JSON.parse(sent[1] ?? '{}') as { flow_json: unknown };
    const after = (await service.read(`/rules/${ids[0]}`)).text;
    expect(flowOf(after)).toBe(JSON.stringify(body.flow_json));
    expect(flowOf(after)).toBe(flowOf(before).replace('Which level?', 'Which level is it?'));
    await context.close();
  });

  test('a draft and its undo survive a reload of the page', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, ids[1]);
    for (const value of ['21', '22', '23']) {
      await priority(page).fill(value);
      // Further apart than keystrokes that count as one edit.
      await page.waitForTimeout(1300);
    }
    await page.reload();
    await page.getByTestId('rule-form').waitFor();
    await untilText(page.locator('body'), /your unsaved draft/);
    expect(await priority(page).inputValue()).toBe('23');
    await page.keyboard.press('Control+z');
    await expect.poll(() => priority(page).inputValue()).toBe('22');
    await page.keyboard.press('Control+z');
    await page.keyboard.press('Control+z');
    await expect.poll(() => page.getByTestId('dirty').innerText()).toBe('No changes');
    await page.keyboard.press('Control+y');
    await expect.poll(() => priority(page).inputValue()).toBe('21');
    await page.keyboard.press('Control+z');
    await context.close();
  });

  test('drafts of one browser are apart by person', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, ids[1]);
    await priority(page).fill('31');
    await page.waitForTimeout(600);
    const issued = runCommand('setpoint', ['token', '--role', 'Engineer', '--subject', 'bob', '--ttl', '1h'], {
      ...serviceEnvironment(service.folders),
    });
    const other = issued.stdout.trim();
    await context.addInitScript((token) => sessionStorage.setItem('setpoint.token', token), other);
    await page.reload();
    await page.getByTestId('rule-form').waitFor();
    expect(await page.getByTestId('dirty').innerText()).toBe('No changes');
    const mine = await service.token('Admin');
    await context.addInitScript((token) => sessionStorage.setItem('setpoint.token', token), mine);
    await page.reload();
    await page.getByTestId('rule-form').waitFor();
    expect(await priority(page).inputValue()).toBe('31');
    await page.keyboard.press('Control+z');
    await expect.poll(() => page.getByTestId('dirty').innerText()).toBe('No changes');
    await context.close();
  });

  test('two tabs of one person show one draft, whichever of them is edited; undo and a reload take nothing from either', async () => {
    const { page, context, complaints } = await visit(browser, service);
    await openRule(page, service, ids[1]);
    const before = await priority(page).inputValue();
    const other = await context.newPage();
    await signInLike(page, other);
    await openRule(other, service, ids[1]);
    const cooldown = (tab: Page) => tab.getByLabel(/^Cooldown/);
    const wasCooldown = await cooldown(other).inputValue();
    await priority(page).fill('41');
    await expect.poll(() => priority(other).inputValue()).toBe('41');
    await cooldown(other).fill('777');
    await expect.poll(() => cooldown(page).inputValue()).toBe('777');
    await page.reload();
    await page.getByTestId('rule-form').waitFor();
    expect([await priority(page).inputValue(), await cooldown(page).inputValue()]).toEqual(['41', '777']);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => cooldown(other).inputValue()).toBe(wasCooldown);
    expect(await priority(other).inputValue()).toBe('41');
    await other.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => priority(page).inputValue()).toBe(before);
    await expect.poll(() => page.getByTestId('dirty').innerText()).toBe('No changes');
    // What one of them saves is saved for both.
    await priority(page).fill('42');
    await expect.poll(() => other.getByTestId('dirty').innerText()).toBe('Unsaved changes');
    await page.getByRole('button', { name: 'Save…' }).click();
    await confirm(page, 'Save');
    await expect.poll(() => other.getByTestId('dirty').innerText()).toBe('No changes');
    expect(await priority(other).inputValue()).toBe('42');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a tab that changed nothing leaves the draft of another tab alone, even without word of it', async () => {
    const { page, context } = await visit(browser, service);
    const other = await context.newPage();
    await other.addInitScript(() => {
      globalThis.BroadcastChannel = class extends EventTarget {
        postMessage(): void {}
        close(): void {}
      } as unknown as typeof BroadcastChannel;
    });
    await signInLike(page, other);
    await openRule(other, service, ids[0]);
    await openRule(page, service, ids[0]);
    await priority(page).fill('43');
    await page.getByRole('link', { name: 'Points', exact: true }).click();
    await other.getByRole('link', { name: 'Points', exact: true }).click();
    await other.getByRole('heading', { name: 'Points' }).waitFor();
    await openRule(page, service, ids[0]);
    await expect.poll(() => priority(page).inputValue()).toBe('43');
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => page.getByTestId('dirty').innerText()).toBe('No changes');
    await context.close();
  });

  test('a draft survives a page that closes before IndexedDB has stored it', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, ids[1]);
    await page.evaluate(() => {
      IDBTransaction.prototype.commit = IDBTransaction.prototype.abort;
    });
    await priority(page).fill('24');
    await page.reload();
    await page.getByTestId('rule-form').waitFor();
    expect(await priority(page).inputValue()).toBe('24');
    await page.keyboard.press('Control+z');
    await expect.poll(() => page.getByTestId('dirty').innerText()).toBe('No changes');
    await page.reload();
    await page.getByTestId('rule-form').waitFor();
    expect(await page.getByTestId('dirty').innerText()).toBe('No changes');
    await context.close();
  });

  test('a browser that blocks site data keeps nothing, and the console works in it', async () => {
    const { page, context, complaints } = await visit(browser, service, { role: null, hash: null });
    await context.addInitScript(() => {
      for (const name of ['localStorage', 'sessionStorage', 'indexedDB'])
        Object.defineProperty(globalThis, name, {
          get: () => {
            throw new DOMException('denied by a policy', 'SecurityError');
          },
        });
    });
    await page.goto(`${service.base}/#/rules/${ids[1]}`);
    await page.getByLabel('Access token').fill(await service.token('Engineer'));
    await page.keyboard.press('Enter');
    await page.getByTestId('rule-form').waitFor();
    const before = await priority(page).inputValue();
    await priority(page).fill('41');
    await page.getByRole('button', { name: 'Save…' }).click();
    await confirm(page, 'Save');
    await expect.poll(() => page.getByTestId('dirty').innerText()).toBe('No changes');
    await page.keyboard.press('Control+z');
    await expect.poll(() => priority(page).inputValue()).toBe(before);
    await page.reload();
    await page.getByLabel('Access token').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test.each([
    ['a device ten minutes behind', -600, 'Clocks differ by 10 minutes'],
    ['a device two days ahead, past the end of its session', 172_800, 'Clocks differ by 2 days'],
  ])('the times of the service are shown on %s', async (_, seconds, sign) => {
    const { page, context, complaints } = await visit(browser, service, { role: null, hash: null });
    await context.addInitScript((offMs) => {
      const Right = Date;
      globalThis.Date = class extends Right {
        constructor(...given: ConstructorParameters<typeof Date> | []) {
          if (given.length === 0) super(Right.now() + offMs);
          else super(...given);
        }
        static override now(): number {
          return Right.now() + offMs;
        }
      } as DateConstructor;
    }, seconds * 1000);
    const changedAt = Date.now();
    const change = { reason: 'for its age', cooldown_ms: 1 + (changedAt % 10_000) };
    expect((await service.command('PUT', `/rules/${ids[0]}`, change)).status).toBe(200);
    await page.goto(`${service.base}/#/rules/${ids[0]}/revisions`);
    await page.getByLabel('Access token').fill(await service.token('Engineer'));
    await page.keyboard.press('Enter');
    await page.getByText(sign).waitFor();
    const age = page.locator('main time').first();
    await untilText(age, /^([4-9]|[1-9][0-9]) s ago$/);
    const shown = Number.parseInt(await age.innerText(), 10);
    expect(Math.abs(shown - (Date.now() - changedAt) / 1000)).toBeLessThan(3);
    expect(await page.getByText('Your sign-in has expired').count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a conflict offers the other version, and keeps mine', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, ids[2]);
    await priority(page).fill('40');
    await service.command('PUT', `/rules/${ids[2]}`, { cooldown_ms: 250, reason: 'writes less often' });
    await page.getByRole('button', { name: 'Save…' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await untilText(
      dialog,
      /Someone else saved[\s\S]*Cooldown[\s\S]*Your starting point:\s+0[\s\S]*Other version:\s+250/,
    );
    await untilText(dialog.getByTestId('changed-by'), /^Saved by \S+ on .* “writes less often”$/);
    await dialog.getByRole('button', { name: 'Keep my version' }).click();
    expect(await priority(page).inputValue()).toBe('40');
    await page.getByRole('button', { name: 'Save…' }).click();
    await confirm(page, 'Save');
    expect((await service.read(`/rules/${ids[2]}`)).body['data']).toMatchObject({ priority: 40 });

    await priority(page).fill('41');
    await service.command('PUT', `/rules/${ids[2]}`, { cooldown_ms: 0, priority: 5 });
    await page.getByRole('button', { name: 'Save…' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByRole('button', { name: 'Use the other version' }).click();
    await expect.poll(() => priority(page).inputValue()).toBe('5');
    await page.getByRole('button', { name: 'Undo' }).click();
    expect(await priority(page).inputValue()).toBe('41');
    await page.getByRole('button', { name: 'Redo' }).click();
    await context.close();
  });

  test('a file of rules is shown before it is imported, and a rule that is refused leaves nothing behind', async () => {
    const { page, context } = await visit(browser, service, { hash: '/rules' });
    const listed = async () =>
      ((await service.read('/rules')).body['data'] as unknown as { list: { id: number; name: string }[] }).list;
    const names = async (): Promise<string[]> => (await listed()).map(({ name }) => name).toSorted();
    onTestFinished(async () => {
      for (const { id } of await listed()) if (!ids.includes(id)) await service.command('DELETE', `/rules/${id}`);
    });
    const peak = demoRules().find(({ name }) => name === 'Peak shaving');
    const bad = JSON.parse(JSON.stringify(peak).replaceAll('"instance":2', '"instance":77')) as object;
    const rules = [{ ...peak, name: 'A copy' }, { ...bad, name: 'A bad one' }, peak];
    const file = (text: string) => ({ name: 'rules.json', mimeType: 'application/json', buffer: Buffer.from(text) });
    const choose = (text: string) => page.locator('input[type=file]').setInputFiles(file(text));
    const dialog = page.getByRole('dialog', { name: 'Import rules' });
    await page.getByRole('button', { name: 'Import', exact: true }).waitFor();
    const before = await names();
    await choose('{"schema":"svc.rules.v1","rules":[]}');
    await dialog.getByText('The file contains no rules.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });

    await choose(JSON.stringify({ schema: 'svc.rules.v1', rules }));
    await untilText(dialog, /Creates 3 rules, disabled[\s\S]*A copy\nA bad one\n.*\(a rule of this name exists\)/);
    expect(await names()).toEqual(before);
    await dialog.getByRole('button', { name: 'Import 3 rules' }).click();
    await untilText(dialog, /One rule was not imported:\s+A bad one: .*no measurement point 1 of instance 77/);
    expect(await names()).toEqual([...before, 'A copy', peak?.name].toSorted());
    await dialog.getByText('Close', { exact: true }).click();
    await page.locator('tr', { hasText: 'A copy' }).getByText('Disabled').first().waitFor();
    await context.close();
  });

  test('an import waits when the service takes no more changes, and is stopped after a whole rule', async () => {
    const { page, context } = await visit(browser, service, { hash: '/rules' });
    const peak = demoRules().find(({ name }) => name === 'Peak shaving');
    const made = async () => {
      const { list } = (await service.read('/rules')).body['data'] as unknown as { list: { id: number }[] };
      return list.map(({ id }) => id).filter((id) => !ids.includes(id));
    };
    onTestFinished(async () => {
      for (const id of await made()) await service.command('DELETE', `/rules/${id}`);
    });
    let asked = 0;
    let release = (): void => undefined;
    const stopped = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/api/rules/*', async (route) => {
      if (route.request().method() !== 'PUT') return route.continue();
      asked++;
      await stopped;
      const error = {
        code: 'rate-limited',
        message: 'wait',
        correlationId: 'c',
        retryable: true,
        retryAfterMs: 50,
        details: {},
      };
      return asked === 1 ? route.fulfill({ status: 429, json: { error } }) : route.continue();
    });
    await page.getByRole('button', { name: 'Import', exact: true }).waitFor();
    const text = JSON.stringify({ schema: 'svc.rules.v1', rules: [peak, peak, peak] });
    const file = { name: 'three.json', mimeType: 'application/json', buffer: Buffer.from(text) };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByRole('button', { name: 'Import 3 rules' }).click();
    await expect.poll(() => asked).toBe(1);
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    release();
    await page.getByText('Imported one rule. It is disabled.').waitFor();
    const [first, ...others] = await made();
    expect([asked, others]).toEqual([2, []]);
    expect((await service.read(`/rules/${first}`)).body['data']?.['flow_json']).toMatchObject(
      peak?.['flow_json'] ?? {},
    );
    await context.close();
  });

  test('a refusal of the service is shown at the field, and nothing is stored', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, ids[1]);
    await page.getByLabel('Interval (milliseconds)').fill('0');
    await untilText(page.getByTestId('problems'), /Trigger[\s\S]*whole number from 1/);
    expect(await page.getByRole('button', { name: 'Save…' }).isDisabled()).toBe(true);
    await page
      .getByTestId('problems')
      .getByRole('button', { name: /Trigger/ })
      .click();
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-path')))
      .toBe('trigger/interval_ms');
    await page.getByRole('button', { name: 'Undo' }).click();
    await context.close();
  });

  test('a Viewer sees everything and may change nothing', async () => {
    const { page, context } = await visit(browser, service, { role: 'Viewer' });
    await page.getByRole('link', { name: 'Peak shaving' }).waitFor();
    expect(await page.getByRole('button', { name: /Enable|Disable|New rule/ }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0);
    await openRule(page, service, ids[0]);
    await untilText(page.locator('body'), /need the role Engineer or Admin/);
    expect(await page.getByRole('button', { name: 'Save…' }).count()).toBe(0);
    await context.close();
  });

  test('an expired token asks to sign in again over the page, which stays as it is', async () => {
    const { page, context } = await visit(browser, service, { role: null });
    const claims = { subject: 'brief', role: 'Engineer', lifetimeSeconds: 12 } as const;
    const brief = await issueToken(signingKey(folders.data), {
      ...claims,
      issuedAtSeconds: Math.floor(Date.now() / 1000),
    });
    await page.getByLabel('Access token').fill(brief);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Daily energy' }).click();
    await priority(page).fill('77');
    const dialog = page.getByRole('dialog');
    await untilText(dialog, /sign-in has expired/, 20_000);
    await dialog.getByLabel('Access token').fill(await service.token('Engineer'));
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await priority(page).inputValue()).toBe('77');
    await page.getByRole('button', { name: 'Undo' }).click();
    await context.close();
  });

  test('data that is still loading is named, accessibly', async () => {
    const { page, context } = await visit(browser, service);
    await page.route('**/api/v1/**', () => undefined);
    for (const hash of ['/audit', `/rules/${ids[1]}/revisions`, `/rules/${ids[1]}/evidence`, '/points', '/forecasts']) {
      await page.goto('about:blank');
      await page.goto(`${service.base}/#${hash}`);
      await page
        .getByRole('status', { name: /Loading/ })
        .first()
        .waitFor();
      expect([hash, await violations(page)]).toEqual([hash, []]);
    }
    await context.close();
  });

  test('a connection whose other end fell silent is not called live, and is replaced when the service answers again', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, ids[1]);
    const stream = page.getByTestId('stream');
    await untilText(stream, /Live/);
    service.process.kill('SIGSTOP');
    try {
      await untilText(stream, /Connecting|Reconnecting/);
    } finally {
      service.process.kill('SIGCONT');
    }
    await untilText(stream, /Live/);
    await expect.poll(async () => (await page.getByText(/just now|[12] s ago/).count()) > 0).toBe(true);
    await context.close();
  });

  test('a rule that has nothing to say stays live', async () => {
    const { page, context } = await visit(browser, service);
    const quiet = Number((await service.command('POST', '/rules', { name: 'Says nothing' })).body['data']?.['id']);
    await openRule(page, service, quiet);
    const stream = page.getByTestId('stream');
    await untilText(stream, /Live/);
    const states = await page.evaluate(async () => {
      const seen: (string | null)[] = [];
      for (let look = 0; look < 32; look++) {
        seen.push(document.querySelector('[data-testid="stream"]')?.getAttribute('data-state') ?? null);
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      return [...new Set(seen)];
    });
    expect(states).toEqual(['live']);
    await service.command('DELETE', `/rules/${quiet}`);
    await context.close();
  });

  test('a restart of the service is reported, and the page recovers by itself', async () => {
    const { page, context } = await visit(browser, service);
    await openRule(page, service, ids[1]);
    await untilText(page.getByTestId('stream'), /Live/);
    await priority(page).fill('55');
    // Fetched with the first change, and present before the service stops.
    await page.getByRole('button', { name: 'Save…' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    const port = new URL(service.base).port;
    await service.stop();
    await untilText(page.locator('body'), /Cannot reach the service/);
    await untilText(page.getByTestId('stream'), /Reconnecting/);
    await page.getByRole('button', { name: 'Save…' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await untilText(page.getByRole('dialog'), /Cannot reach/);
    await page.getByRole('button', { name: 'Cancel' }).click();
    service = await startDemo(folders, { SVC_HTTP_PORT: port });
    await untilText(page.getByTestId('stream'), /Live/, 30_000);
    await expect.poll(() => page.getByText('Cannot reach the service').count()).toBe(0);
    expect(await priority(page).inputValue()).toBe('55');
    await page.getByRole('button', { name: 'Save…' }).click();
    await confirm(page, 'Save');
    expect((await service.read(`/rules/${ids[1]}`)).body['data']).toMatchObject({ priority: 55 });
    await context.close();
  });

  test('a 503 is shown as one', async () => {
    const { page, context } = await visit(browser, service);
    const envelope = {
      error: { code: 'engine-unavailable', message: 'the engine starts', correlationId: 'e2e-00001', retryable: true },
    };
    await page.route('**/api/rules?*', (route) => route.fulfill({ status: 503, json: envelope }));
    await page.goto(`${service.base}/#/rules`);
    await page.reload();
    await untilText(page.locator('body'), /temporarily unavailable \(503\)/);
    await untilText(page.locator('body'), /cannot do this now: the engine starts[\s\S]*e2e-00001/);
    // A list that could not be read is not an empty one.
    expect(await page.getByText('0 rules').count()).toBe(0);
    await page.unroute('**/api/rules?*');
    await page.getByRole('link', { name: 'Peak shaving' }).waitFor();
    await context.close();
  });
});
