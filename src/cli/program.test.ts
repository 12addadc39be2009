/** The program against a real gateway, with a terminal of its own [platform §7]: questions, tables, colour, no stack. */
import type { Command } from 'commander';
import { afterEach, describe, expect, test } from 'vitest';
import { automation } from '../api/automation.ts';
import type { BoundCapability, Capability } from '../api/capability.ts';
import { operations } from '../api/operations.ts';
import { ruleTemplates } from '../api/rule-templates.ts';
import { startTestGateway, type TestGateway, testSubject } from '../testing/test-gateway.ts';
import { commandsWithoutService, programParts, type TerminalChoices, testTerminal } from '../testing/test-terminal.ts';
import { createProgram, runProgram } from './program.ts';
import { printProperties, printTable } from './table.ts';

const gateways: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.server.close();
});

/** The operation with a fixed answer; it records its calls. */
function answering(descriptor: Capability, data: unknown, calls: unknown[]): BoundCapability {
  return {
    descriptor,
    resource: () => ({ kind: 'automation-rule', id: 'automation-rule:1' }),
    async handler({ params, query, body }) {
      calls.push({ params, query, body });
      return { data: { success: true, data } };
    },
  };
}

interface RunChoices extends TerminalChoices {
  readonly bound?: readonly BoundCapability[];
  readonly gateway?: (gateway: TestGateway) => void;
}

/** Runs one command line against a gateway with these operations. */
async function run(args: readonly string[], { bound = [], gateway: prepare, ...choices }: RunChoices = {}) {
  const subject = testSubject('ada', ['automation.rule.manage', 'automation.read']);
  const gateway = await startTestGateway(bound, { subjects: { token: subject } });
  gateways.push(gateway);
  prepare?.(gateway);
  const shown = testTerminal(choices);
  const env = { SVC_BASE_URL: `${gateway.base}/`, SVC_ACCESS_TOKEN: ' token\n' };
  const exitCode = await runProgram(args, programParts(shown.terminal, env));
  return { exitCode, asked: shown.asked, out: shown.out(), error: shown.error() };
}

describe('[identity §4] delete --force only skips the question', () => {
  const deleting = (calls: unknown[]) => [answering(automation.remove, { id: 1, status: 'deleted' }, calls)];

  test.each([
    ['--confirmed, no person', ['--confirmed'], null, 0, 1],
    ['--confirmed, a person who says yes', ['--confirmed'], true, 0, 1],
    ['--confirmed, a person who says no', ['--confirmed'], false, 2, 0],
    ['--force alone', ['--force'], true, 2, 0],
    ['nothing', [], true, 2, 0],
  ] as const)('%s', async (_name, flags, answer, exitCode, sent) => {
    const calls: unknown[] = [];
    const result = await run(['rules', 'delete', '1', ...flags], { bound: deleting(calls), answer });
    expect([result.exitCode, calls.length]).toEqual([exitCode, sent]);
    expect(result.error === '').toBe(exitCode === 0);
  });

  test('with both there is no prompt', async () => {
    const calls: unknown[] = [];
    const result = await run(['rules', 'delete', '1', '--confirmed', '--force'], {
      bound: deleting(calls),
      answer: false,
    });
    expect(result).toMatchObject({ exitCode: 0, asked: [], out: 'deleted 1\n' });
    expect(calls).toEqual([{ params: { id: '1' }, query: {}, body: { confirmed: true } }]);
  });
});

describe('[platform §7] output', () => {
  const page = {
    list: [
      { id: 7, name: 'A\u001b]0;x\u0007B', key: null, enabled: true, mode: 'live', description: null },
      { id: 12, name: 'Ström', key: null, enabled: false, mode: 'live', description: 'two\nlines' },
    ],
    ...pages(2),
  };
  function pages(total: number) {
    return { total, page: 1, page_size: 20, total_pages: 1, has_next: false, has_previous: false };
  }
  const bound = [answering(automation.list, page, [])];

  test('a table on a terminal, nothing in it that moves the cursor', async () => {
    const { out } = await run(['rules', 'list'], { bound, isTerminal: true });
    expect(out).toBe(
      'ID  NAME      ENABLED  DESCRIPTION\n 7  A\ufffd]0;x\ufffdB  yes      -\n12  Ström     no       two\ufffdlines\n',
    );
  });

  test('colour where it is wanted, tabs in a pipe, and JSON as the service said it', async () => {
    const coloured = await run(['rules', 'list'], { bound, isTerminal: true, colour: true });
    expect(coloured.out).toContain('\u001b[32myes    \u001b[0m');
    expect((await run(['rules', 'list'], { bound })).out).toBe(
      '7\tA\ufffd]0;x\ufffdB\tyes\t-\n12\tStröm\tno\ttwo\ufffdlines\n',
    );
    const json = await run(['rules', 'list', '--json', '--page-size', '5', '--enabled', 'true'], { bound });
    expect(JSON.parse(json.out)).toEqual(page);
  });

  test('a list that is not complete names the option for the next part, in a pipe on standard error', async () => {
    const part = { ...page, total: 45, total_pages: 3, has_next: true };
    const listing = [answering(automation.list, part, [])];
    const said = 'page 1 of 3, 45 in all: --page 2 has the next\n';
    expect((await run(['rules', 'list'], { bound: listing, isTerminal: true })).out).toMatch(
      new RegExp(`two\ufffdlines\n${said}$`),
    );
    const piped = await run(['rules', 'list'], { bound: listing });
    expect(piped).toMatchObject({ error: said });
    expect(piped.out.split('\n')).toHaveLength(3);
    // A page does not tell users their own name.
    expect(await run(['rules', 'list', '--page-size', '20'], { bound: listing })).toMatchObject({ error: '' });
    const runs = { rule_id: 7, list: [], next_before: '01a21be9-2a84-750f-925c-c8e68af4f957' };
    const acted = {
      execution_id: runs.next_before,
      rule_id: 7,
      rule_revision: 1,
      trigger: { type: 'interval' },
      started_at: '2026-11-28T06:00:00.000Z',
      duration_us: 300,
      outcome: 'acted',
      success: true,
      error: null,
      actions_executed: [],
      execution_path: [],
      matched_condition: null,
      variable_values: {},
      node_details: {},
      correlation_id: 'correlation',
    };
    const some = await run(['rules', 'history', '7'], {
      bound: [answering(automation.history, { ...runs, list: [acted] }, [])],
    });
    expect(some).toMatchObject({ error: 'there are more: --before 01a21be9-2a84-750f-925c-c8e68af4f957\n' });
    // A filtered page may be empty although later ones are not: the notice is printed in any case.
    for (const asked of [[], ['--limit', '5']]) {
      const none = await run(['rules', 'history', '7', ...asked], { bound: [answering(automation.history, runs, [])] });
      expect(none).toMatchObject({
        out: '',
        error: 'none found yet: --before 01a21be9-2a84-750f-925c-c8e68af4f957 searches on\n',
      });
    }
    const rest = await run(['rules', 'history', '7'], {
      bound: [answering(automation.history, { ...runs, next_before: null }, [])],
    });
    expect(rest).toMatchObject({ error: '' });
  });

  test('a cell that is long is cut on a terminal and whole in a pipe; missing is a dash', () => {
    const columns = [{ title: 'T', cell: (row: { readonly text: string | null }) => row.text }];
    const rows = [{ text: 'x'.repeat(80) }, { text: null }];
    const wide = testTerminal({ isTerminal: true });
    printTable(wide.terminal, columns, rows);
    expect(wide.out().split('\n')).toEqual(['T', `${'x'.repeat(59)}…`, '-', '']);
    const piped = testTerminal();
    printTable(piped.terminal, columns, rows);
    printProperties(piped.terminal, { a: 0, b: null, c: false });
    expect(piped.out()).toBe(`${'x'.repeat(80)}\n-\na\t0\nb\t-\nc\tno\n`);
  });

  test('an answer without its closing audit record is said to be', async () => {
    const result = await run(['rules', 'enable', '1', '--confirmed'], {
      bound: [answering(automation.enable, { id: 1, status: 'enabled' }, [])],
      gateway: (gateway) => gateway.failAudit(({ outcome }) => outcome === 'succeeded'),
    });
    expect(result).toMatchObject({ exitCode: 0, out: 'enabled 1\n' });
    expect(result.error).toMatch(
      /the change was made, but the audit record of its end is missing \(correlation id \S+\)/,
    );
  });

  test.each([
    ['an option that is none', ['rules', 'list', '--nonsense'], /^setpoint: unknown option '--nonsense'; add --help/],
    [
      'a command that is nearly one',
      ['rule'],
      /^setpoint: unknown command 'rule' \(Did you mean rules\?\); add --help/,
    ],
    [
      'a command of another group',
      ['rules', 'pull'],
      /^setpoint: unknown command 'pull'; there is `setpoint pull`; add/,
    ],
    [
      'a command without its group',
      ['backtest', '3'],
      /^setpoint: unknown command 'backtest'; there is `setpoint rules backtest`, `setpoint forecasts backtest`; add/,
    ],
    [
      'a value that is none',
      ['rules', 'get', 'x'],
      /^setpoint: 'x' is invalid .* Give the number of a rule; add --help/,
    ],
  ])('wrong usage reads like every other failure: %s', async (_name, args, text) => {
    const { exitCode, error } = await run(args);
    expect(exitCode).toBe(2);
    expect(error).toMatch(text);
    expect(error.trimEnd().split('\n')).toHaveLength(1);
    const json = await run([...args, '--json']);
    expect([json.exitCode, JSON.parse(json.error)]).toEqual([
      2,
      { error: { code: 'command-failed', message: error.trimEnd().replace(/^setpoint: /, '') } },
    ]);
  });

  test('help is on standard output if requested, on standard error after an incomplete command', async () => {
    expect(await run(['rules', '--help'])).toMatchObject({
      exitCode: 0,
      error: '',
      out: expect.stringMatching(/^Usage: setpoint rules /),
    });
    const missing = await run(['rules', '--json']);
    expect(missing.exitCode).toBe(2);
    expect(await run(['rules'])).toMatchObject({
      exitCode: 2,
      out: '',
      error: expect.stringMatching(/^Usage: setpoint rules /),
    });
    // Required options are marked as such, and no others.
    const { out } = await run(['token', 'revoke', '--help']);
    expect(out).toMatch(/--reason <text> +why, 3 to 500 characters \(required\)\n/);
    expect(out.split('(required)')).toHaveLength(2);
  });

  test('[audit §9.7] acknowledging a break takes a reason of 3 to 500 characters', async () => {
    const saying = (reason: string) => run(['audit', 'acknowledge-break', '--reason', reason]);
    for (const length of [2, 501])
      expect(await saying('x'.repeat(length))).toMatchObject({
        exitCode: 2,
        error: expect.stringContaining('--reason must have 3 to 500 characters'),
      });
    // The next thing it needs is the data dir, which this program lacks.
    for (const length of [3, 500]) await expect(saying('x'.repeat(length))).rejects.toThrow('not used');
  });

  test('an unexpected error is not swallowed', async () => {
    await expect(run(['token', '--role', 'Admin', '--subject', 'x'])).rejects.toThrow('not used');
  });
});

/** Every command of the program with its help. */
function wholeProgram(): readonly (readonly [path: string, help: string])[] {
  const { terminal } = testTerminal();
  const program = createProgram(programParts(terminal), commandsWithoutService(terminal));
  return program.commands.flatMap((command) => [
    // Groups alone do nothing, but for `token`, which signs one.
    ...(command.commands.length === 0 || command.name() === 'token'
      ? [[command.name(), command.helpInformation()] as const]
      : []),
    ...command.commands.map((child) => [`${command.name()} ${child.name()}`, child.helpInformation()] as const),
  ]);
}

test('[platform §7] every command has --json, but for those that serve until they are stopped, and the completion', () => {
  const without = wholeProgram().filter(([, help]) => !help.includes('--json '));
  expect(without.map(([path]) => path)).toEqual(['serve', 'simulate', 'witness', 'mcp', 'completion']);
});

describe('commands that need no service are loaded for themselves alone', () => {
  test('each command prints the same help, whichever others were loaded for it', async () => {
    const loaded: string[] = [];
    for (const [path, help] of wholeProgram()) {
      const shown = testTerminal();
      const parts = programParts(shown.terminal);
      const noted = {
        ...parts,
        ownCommands: () => {
          loaded.push(path);
          return parts.ownCommands();
        },
      };
      expect([await runProgram([...path.split(' '), '--help'], noted), path]).toEqual([0, path]);
      expect(shown.out().startsWith(help)).toBe(true);
    }
    expect(loaded).toContain('backup');
    expect(loaded).toContain('rules export');
    expect(
      loaded.filter((path) => /^(serve|mcp|points|channels|alarms|rules (list|plan)|site reload)/.test(path)),
    ).toEqual([]);
  });
});

describe('[platform §7] nothing is forgotten', () => {
  test('every option has a description', () => {
    const described = ({ commands, options }: Pick<Command, 'commands' | 'options'>): string[] => [
      ...options.filter(({ description }) => description === '').map(({ flags }) => flags),
      ...commands.flatMap((child) => described(child).map((flags) => `${child.name()} ${flags}`)),
    ];
    const { terminal } = testTerminal();
    expect(described(createProgram(programParts(terminal), commandsWithoutService(terminal)))).toEqual([]);
  });

  test('a question without options has its body all the same', async () => {
    const calls: unknown[] = [];
    const none = { classes: [], settings: [], wires: { added: [], removed: [] }, actuators: [] };
    const difference = { ...none, nodes: { added: [], removed: [], changed: [] }, sentence: { before: '', after: '' } };
    const made = { template: 'a-template', version: 1, from_version: 1, points: {}, numbers: {}, difference };
    const bound = [answering(ruleTemplates.difference, made, calls)];
    expect(await run(['rules', 'template-diff', '7'], { bound })).toMatchObject({ exitCode: 0 });
    expect(calls).toMatchObject([{ params: { id: '7' }, body: {} }]);
  });

  test('JSON that is neither given nor a file is refused as such', async () => {
    const { error } = await run([
      'rules',
      'backtest',
      '1',
      '--from',
      'x',
      '--to',
      'y',
      '--mode',
      'replay',
      '--compare',
      '4',
    ]);
    expect(error).toContain('4: neither a JSON object nor a file');
  });

  test('every operation on rules, scheduler, points, site and audit has a command; of data processing there is the backtest alone', () => {
    const paths = wholeProgram().map(([path]) => path);
    const commandOf = (name: string): string | null => {
      const [, area = '', what = ''] = name.split('.');
      if (name === 'automation.instance.list') return 'instances';
      if (/^audit\.event\.(search|proof)$/.test(name)) return `audit ${what}`;
      if (/^audit\.(checkpoint|log)\./.test(name)) return `audit ${area === 'log' ? what : area}`;
      // For a folder of rules, not for one rule.
      if (name === 'automation.rule.plan' || name === 'automation.rule.apply') return what;
      // The page as a stream, credentials, and what monitoring asks for.
      if (/^(audit\.event\.stream|identity\.|platform\.|data_processing\.)/.test(name)) return null;
      return `${area}${/^(rule|point|alarm|parameter|channel)$/.test(area) ? 's' : ''} ${what}`;
    };
    const expected = operations.flatMap(({ name }) => commandOf(name) ?? []);
    expect(expected.filter((path) => !paths.includes(path))).toEqual([]);
    expect(paths.filter((path) => /process|forecast/.test(path))).toEqual(['forecasts backtest']);
    expect(expected).toHaveLength(57);
  });
});
