/// <reference lib="dom" />
/**
 * Every page in dark and light, wide and narrow: no accessibility violation that is serious or critical (axe-core), no
 * word of complaint from the browser about the policy, nothing wider than the screen. With SCREENSHOTS=1 the pictures of
 * the guides are rebuilt.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root, startTestService, type TestService, testFolders, waitFor } from '../e2e/running-service.ts';
import { violations } from './axe.ts';
import { chromiumPath, demoFolder, launch, visit } from './browser.ts';
import { selectNode, untilText } from './steps.ts';

const pictures = join(root, 'docs', 'images');
/** The pictures that the README and the guide show. */
const shown = [
  'site-1440',
  'points-1440',
  'point-1440',
  'devices-1440',
  'actuator-1440',
  'alarms-1440',
  'rules-1440',
  'rule-1440',
  'rule-node-1440-dark',
  'rule-try-1440',
  'rule-history-1440',
  'audit-1440',
  'forecasts-1440',
  'rules-390',
];

/** Text that extends past the right edge of the screen, and by how much the page does. Text cut with an ellipsis is intended. */
function beyondTheEdge(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const edge = document.documentElement.clientWidth;
    const isMeant = (element: Element | null): boolean => {
      for (let at = element; at !== null; at = at.parentElement) {
        const style = getComputedStyle(at);
        if (style.textOverflow === 'ellipsis' || style.webkitLineClamp !== 'none') return true;
        if (at.matches('.sp-hidden, .react-flow')) return true;
      }
      return false;
    };
    const found: string[] = [];
    const wide = document.documentElement.scrollWidth - edge;
    if (wide > 0) found.push(`${wide} pixels wider than the screen`);
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(node);
      const { right, width } = range.getBoundingClientRect();
      if (width > 0 && right > edge + 1 && !isMeant(node.parentElement))
        found.push(`${Math.round(right - edge)} pixels beyond the edge: ${node.textContent?.slice(0, 60)}`);
    }
    return found;
  });
}

/** The same once charts and layout have adapted to a new size. */
async function beyondTheEdgeAtRest(page: Page): Promise<string[]> {
  let found = await beyondTheEdge(page);
  for (let turn = 0; found.length > 0 && turn < 30; turn++) {
    await page.waitForTimeout(100);
    found = await beyondTheEdge(page);
  }
  return found;
}

/**
 * Loads the whole page, as a link from elsewhere does: another fragment alone only changes what it shows. `page.reload()` right after
 * a change of fragment was seen to load the old address, so the page reloads itself.
 */
async function openAfresh(page: Page, address: string): Promise<void> {
  await page.goto(address);
  const loaded = page.waitForEvent('load');
  await page.evaluate(() => location.reload()).catch(() => undefined);
  await loaded;
}

/** Transitions have finished by then. */
const fadeMs = 400;

interface PageCase {
  readonly name: string;
  readonly hash: string;
  readonly ready: (page: Page) => Promise<unknown>;
}

describe.runIf(chromiumPath !== undefined)('every page, in both schemes and at both widths', () => {
  let service: TestService;
  let browser: Browser;
  const folders = testFolders('');
  beforeAll(async () => {
    const env = { SVC_CONFIG_DIR: demoFolder, SVC_LOG_LEVEL: 'info', SVC_FORECASTER_PORT: '0' };
    service = await startTestService(folders, env, 'start');
    browser = await launch();
    await waitFor(() => (service.logs().includes('demo history filled') ? true : undefined), 60_000);
    const override = { value: 100, for_seconds: 3600, reason: 'grid operator called' };
    await service.command('POST', '/points/3/action/1/override', override);
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    folders.remove();
  });

  const cases: PageCase[] = [
    { name: 'points', hash: '/points', ready: (page) => page.getByRole('link', { name: 'battery soc' }).waitFor() },
    {
      name: 'point',
      hash: '/points/4:measurement:1',
      ready: async (page) => {
        await page.getByLabel('Instant').fill('2100-01-01T00:00:00');
        await page.getByTestId('instant').getByRole('link').first().waitFor();
        await page.locator('.uplot').waitFor();
      },
    },
    { name: 'actuator', hash: '/points/4:action:1', ready: (page) => page.getByText('Held by, last').waitFor() },
    { name: 'devices', hash: '/devices', ready: (page) => page.locator('[data-channel="plant"]').waitFor() },
    {
      name: 'alarms',
      hash: '/alarms',
      ready: async (page) => {
        await page.locator('[data-alarm="override-active"]').waitFor();
        await page.getByText('All', { exact: true }).click();
        await page.locator('[data-compared]').first().waitFor();
      },
    },
    { name: 'rules', hash: '/rules', ready: (page) => page.getByText('Acted').first().waitFor() },
    {
      name: 'rule',
      hash: '/rules/1',
      ready: async (page) => {
        await page.getByTestId('rule-form').waitFor();
        await page.locator('[data-run="visited"], [data-visited="true"]').first().waitFor();
      },
    },
    {
      name: 'rule-node',
      hash: '/rules/1?panel=%22node%22',
      ready: async (page) => {
        const inList = page.getByRole('button', { name: 'Edit Which level?' });
        await page.locator('[data-node="level"]').or(inList).first().waitFor();
        if (await inList.isVisible()) await inList.click();
        else await selectNode(page, 'level');
        await page.getByTestId('inspector').waitFor();
      },
    },
    { name: 'rule-revisions', hash: '/rules/1/revisions', ready: (page) => page.getByTestId('revision').waitFor() },
    { name: 'rule-tests', hash: '/rules/1/evidence', ready: (page) => page.getByTestId('tests').waitFor() },
    {
      name: 'rule-backtest',
      hash: '/rules/1/evidence?part=%22backtest%22',
      ready: async (page) => {
        await page.getByRole('button', { name: 'Run backtest' }).click();
        await page.getByTestId('backtest-result').waitFor();
      },
    },
    {
      name: 'rule-shadow',
      hash: '/rules/1/evidence?part=%22shadow%22',
      ready: (page) => page.getByTestId('shadow').waitFor(),
    },
    { name: 'rule-try', hash: '/rules/1?panel=%22try%22', ready: (page) => page.getByTestId('trial').waitFor() },
    {
      name: 'rule-history',
      hash: '/rules/1?panel=%22history%22',
      ready: async (page) => {
        await page.getByTestId('history').locator('button[data-outcome]').first().click();
        await page.getByTestId('run-details').waitFor();
      },
    },
    { name: 'audit', hash: '/audit', ready: (page) => page.getByTestId('audit-events').waitFor() },
    {
      name: 'audit-event',
      hash: '/audit?event=%221%22',
      ready: (page) => page.getByTestId('audit-event').waitFor(),
    },
    {
      name: 'forecasts',
      hash: '/forecasts',
      ready: async (page) => {
        await page.getByRole('button', { name: 'Run the forecast' }).click();
        await page.getByTestId('result').waitFor({ timeout: 20_000 });
        await page.getByTestId('issued').waitFor();
        // With the history recorded before it and since.
        const result = page.getByTestId('result');
        await result.getByRole('button', { name: 'Show as a table' }).click();
        await result.getByRole('columnheader', { name: 'recorded' }).waitFor();
        await result.getByRole('button', { name: 'Show as a chart' }).click();
        await page.locator('.uplot').nth(1).waitFor();
      },
    },
    {
      // After a forecast was made.
      name: 'site',
      hash: '/',
      ready: async (page) => {
        await page.getByTestId('site-forecast').locator('.uplot').waitFor();
        await untilText(page.getByTestId('site-forecast'), /data up to (just now|\d+ \w+ ago)/);
        await page.getByText(/^ends in \d+ min$/).waitFor();
      },
    },
  ];
  // In two halves: all pages take 45 s on two idle cores.
  const halves = [1440, 390].flatMap((width) => [0, 1].map((half) => ({ width, half })));
  test.each(halves)('$width pixels wide, light and then dark, half $half of them', async ({ width, half }) => {
    const { page, context, complaints } = await visit(browser, service, { width });
    const faults: string[] = [];
    const look = async (picture: string): Promise<void> => {
      const found = [...(await violations(page)), ...(await beyondTheEdge(page))];
      faults.push(...found.map((fault) => `${picture}: ${fault}`));
      if (process.env['SCREENSHOTS'] !== '1' || !shown.includes(picture)) return;
      mkdirSync(pictures, { recursive: true });
      await page.screenshot({ path: join(pictures, `console-${picture}.png`) });
    };
    for (const { name, hash, ready } of cases.filter((_, at) => at % 2 === half)) {
      await page.emulateMedia({ colorScheme: 'light' });
      await openAfresh(page, `${service.base}/#${hash}`);
      await ready(page);
      await page.waitForTimeout(fadeMs);
      await look(`${name}-${width}`);
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.locator('html[data-mantine-color-scheme="dark"]').waitFor();
      await page.waitForTimeout(fadeMs);
      await look(`${name}-${width}-dark`);
    }
    expect(faults).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test.each(['en-US', 'de-DE'])('nothing is wider than a tablet, or a window of any width, in %s', async (locale) => {
    const { page, context } = await visit(browser, service, { locale });
    // At each width where the layout changes, and at the narrowest supported.
    const widths = [320, 380, 381, 600, 768, 780, 781, 900, 901, 1060, 1061, 1220, 1221, 1340, 1341];
    const faults: string[] = [];
    for (const hash of ['/', '/points', '/devices', '/alarms', '/rules', '/rules/1', '/forecasts', '/audit']) {
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.goto(`${service.base}/#${hash}`);
      await page.locator('h1').first().waitFor();
      // A loading part has no width yet.
      await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
      await page.waitForTimeout(400);
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        for (const fault of await beyondTheEdgeAtRest(page)) faults.push(`${hash} at ${width}: ${fault}`);
      }
    }
    expect(faults).toEqual([]);
    await context.close();
  });

  test('a phone shows all of a rule with long names, a long sentence and no spaces', async () => {
    const long = 'what_the_site_takes_from_the_grid_beyond_that_which_the_plant_delivers';
    const name = `A rule with a name that is far too long: ${long}`;
    const source = (await service.read('/rules/1')).body['data']?.['flow_json'];
    const flow = JSON.parse(
      JSON.stringify(source).replaceAll('net_load', long).replaceAll('Which level?', long),
    ) as object;
    const made = await service.command('POST', '/rules', { name, description: long });
    const id = Number(made.body['data']?.['id']);
    const update = { trigger_config: { type: 'interval', interval_ms: 1000 }, flow_json: flow };
    expect((await service.command('PUT', `/rules/${id}`, update)).status).toBe(200);
    await service.command('POST', `/rules/${id}/execute`);
    const { page, context } = await visit(browser, service, { width: 390, height: 844 });
    const faults: string[] = [];
    const look = async (hash: string, ready: Locator, act?: () => Promise<unknown>): Promise<void> => {
      await page.goto(`${service.base}/#${hash}`);
      await ready.waitFor();
      await act?.();
      for (const fault of await beyondTheEdge(page)) faults.push(`${hash}: ${fault}`);
    };
    const rule = `/rules/${id}`;
    await look('/rules', page.getByRole('link', { name }));
    await look(rule, page.getByTestId('rule-form'), () => untilText(page.getByTestId('sentence'), new RegExp(long)));
    await look(`${rule}?panel=%22node%22`, page.getByTestId('flow-list'), async () => {
      await page.getByRole('button', { name: `Edit ${long}` }).click();
      await page.getByTestId('inspector').waitFor();
    });
    await look(`${rule}?panel=%22try%22`, page.getByTestId('trial'));
    await look(`${rule}?panel=%22history%22`, page.getByTestId('history'), async () => {
      await page.getByTestId('history').locator('button[data-outcome]').first().click();
      await page.getByTestId('run-details').waitFor();
    });
    await look('/audit', page.getByRole('link', { name }).first());
    await look('/forecasts', page.getByRole('heading', { name: 'Tasks' }));
    expect(faults).toEqual([]);
    await service.command('DELETE', `/rules/${id}`);
    await context.close();
  });

  test('an audit event names its rule and links to it, with the id; a deleted one has its id', async () => {
    const made = await service.command('POST', '/rules', { name: 'Gone soon' });
    await service.command('DELETE', `/rules/${String(made.body['data']?.['id'])}`);
    const { page, context } = await visit(browser, service, { hash: '/audit?resourceKind=automation-rule' });
    const events = page.getByTestId('audit-events');
    await untilText(events, /Peak shaving\s+automation-rule:\d+/);
    await untilText(events, new RegExp(`\\tautomation-rule:${String(made.body['data']?.['id'])}\\t`));
    expect(await events.innerText()).not.toContain('Gone soon');
    await events.getByRole('link', { name: 'Peak shaving' }).first().click();
    await page.getByRole('heading', { name: 'Peak shaving' }).waitFor();
    await context.close();
  });

  test('signing in by the link that npm start prints: once', async () => {
    const link = /http:\/\/127\.0\.0\.1:\d+\/#code=[A-Za-z0-9_-]+/.exec(service.logs())?.[0] ?? '';
    const { page, context } = await visit(browser, service, { role: null });
    expect(await page.evaluate(async () => (await fetch('/')).headers.get('content-security-policy'))).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[A-Za-z0-9_-]{43}';/,
    );
    // Into the tab that asks for it, where only the fragment of the address changes.
    await page.goto(link);
    await page.getByRole('link', { name: 'Peak shaving' }).waitFor();
    expect(page.url()).not.toContain('code=');
    const again = await visit(browser, service, { role: null });
    await again.page.goto('about:blank');
    await again.page.goto(link);
    await untilText(again.page.locator('body'), /no longer valid/);
    expect(await violations(again.page)).toEqual([]);
    await again.context.close();
    await context.close();
  });

  test('a forecast that is refused shows its reasons as a table', async () => {
    const { page, context } = await visit(browser, service, { hash: '/forecasts' });
    await page.getByLabel('Data up to').fill('2020-01-01T00:07:00Z');
    await untilText(page.locator('form'), /a past time on a whole step of 15 min/);
    expect(await page.getByRole('button', { name: 'Run the forecast' }).isDisabled()).toBe(true);
    await page.getByLabel('Data up to').fill('2020-01-01 00:15');
    const run = page.getByRole('button', { name: 'Run the forecast' });
    const steps = await page.getByLabel('Steps ahead').inputValue();
    for (const odd of ['0', '1.5', '', String(Number(steps) + 1)]) {
      await page.getByLabel('Steps ahead').fill(odd);
      await expect.poll(() => run.isDisabled()).toBe(true);
    }
    await page.getByText(`Enter a whole number from 1 to ${steps}.`).waitFor();
    await page.getByLabel('Steps ahead').fill(steps);
    await run.click();
    await page.getByTestId('refusal').waitFor();
    await untilText(page.getByTestId('refusal').getByRole('table', { name: 'Why' }), /Rule[\s\S]*load/);
    await untilText(page.getByTestId('refusal'), /Correlation id/);
    // The page shows the error code of the processor, and the reason for a missing result.
    const refusals = [
      [502, 'processor-refused', { code: 'MODEL_TOO_OLD' }, /Processor error: MODEL_TOO_OLD\./],
      [503, 'processing-unavailable', { reason: 'CONNECTION_FAILED' }, /Reason: the processor cannot be reached\./],
      [503, 'processing-unavailable', { reason: 'OUT_OF_MEMORY' }, /Reason: OUT_OF_MEMORY\./],
    ] as const;
    for (const [status, code, details, words] of refusals) {
      const error = { code, message: 'no result', correlationId: 'e2e-00001', retryable: false, details };
      await page.route('**/process', (route) => route.fulfill({ status, json: { error } }), { times: 1 });
      await page.getByRole('button', { name: 'Run the forecast' }).click();
      await untilText(page.getByTestId('refusal'), words);
    }
    await context.close();
  });

  test('from an event of the audit log to everything with its correlation, by address', async () => {
    const { page, context } = await visit(browser, service);
    await service.command('POST', '/scheduler/reload');
    await page.goto(`${service.base}/#/audit?action=automation.scheduler.reload`);
    const events = page.getByTestId('audit-events');
    // Its middle, which holds no button: the whole row is clickable.
    await events.locator('tr[data-outcome="succeeded"]').first().click();
    await page.getByRole('button', { name: 'Show all events with this correlation id' }).click();
    await untilText(page.locator('body'), /Events with correlation id/);
    await expect.poll(() => events.locator('tbody tr').count()).toBe(2);
    expect(page.url()).toMatch(/correlation=/);
    await page.reload();
    await expect.poll(() => events.locator('tbody tr').count()).toBe(2);
    await page.getByRole('button', { name: 'Show all events', exact: true }).click();
    await expect.poll(() => events.locator('tbody tr').count()).toBeGreaterThan(2);
    await context.close();
  });

  test('unknown values in an address are ignored', async () => {
    const { page, context, complaints } = await visit(browser, service, { hash: '/rules/1/evidence?part=other' });
    await page.getByTestId('tests').waitFor();
    await page.goto(`${service.base}/#/rules/1?panel=other`);
    await page.getByTestId('rule-form').waitFor();
    await page.goto(`${service.base}/#/rules/1/revisions?revision=other`);
    await page.getByTestId('revision').waitFor();
    for (const [list, row] of [
      ['rules', 'Daily energy'],
      ['points', 'battery soc'],
    ] as const) {
      await page.goto(`${service.base}/#/${list}?filter=other`);
      await page.getByRole('link', { name: row }).waitFor();
      expect(await page.getByRole('radio', { name: 'All' }).isChecked()).toBe(true);
    }
    await page.goto(`${service.base}/#/audit?action=[1]`);
    await page.getByTestId('audit-events').getByRole('link', { name: 'Peak shaving' }).first().waitFor();
    expect(await page.getByRole('combobox', { name: 'Action' }).inputValue()).toBe('');
    expect(await page.getByRole('button', { name: 'Clear filters' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a phone shows running rules, and disables and enables them', async () => {
    const { page, context } = await visit(browser, service, { width: 390, height: 800 });
    const row = page.locator('tr', { hasText: 'Daily energy' });
    await row.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('button', { name: 'Disable the rule' }).click();
    await untilText(row, /Disabled/);
    await row.getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('button', { name: 'Enable the rule' }).click();
    await untilText(row, /Waiting/);
    await context.close();
  });
});
