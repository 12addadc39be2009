/** The cost of a new kind: a dummy of each sort is added to a copy of the sources, and must then be known everywhere. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repositoryFiles } from './sources.ts';

let copy = '';
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'setpoint-kinds-'));
  for (const folder of ['src', 'console/src'])
    cpSync(folder, join(copy, folder), { recursive: true, filter: (path) => !path.endsWith('.test.ts') });
  for (const file of ['package.json', 'tsconfig.json', 'console/tsconfig.json']) cpSync(file, join(copy, file));
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

/** The files that `change` touches: new ones, and those of which a line is replaced by several. */
class Change {
  readonly files: string[] = [];

  add(path: string, text: string): void {
    this.files.push(path);
    writeFileSync(join(copy, path), text);
  }

  line(path: string, after: string, more: string, top = ''): void {
    const text = readFileSync(join(copy, path), 'utf8');
    expect(text, path).toContain(after);
    if (!this.files.includes(path)) this.files.push(path);
    writeFileSync(join(copy, path), top + text.replace(after, `${after}\n${more}`));
  }
}

/** The answer of the copied sources, from a program that imports them. */
function ask(program: string): unknown {
  const file = join(copy, 'ask.ts');
  writeFileSync(file, program);
  return JSON.parse(execFileSync('node', [file], { encoding: 'utf8' }));
}

/** Type errors of the copy: of the console's own lists of kinds, or of all of it. */
function typeFaults(include: readonly string[]): string[] {
  const config = {
    extends: './console/tsconfig.json',
    include,
  };
  writeFileSync(join(copy, 'kinds.json'), JSON.stringify(config));
  try {
    execFileSync('node', ['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'kinds.json'], {
      cwd: copy,
      encoding: 'utf8',
    });
    return [];
  } catch (error) {
    return error instanceof Error && 'stdout' in error ? String(error.stdout).trim().split('\n') : [String(error)];
  }
}

describe('a node kind and a trigger kind', { timeout: 120_000 }, () => {
  const node = new Change();
  const trigger = new Change();

  test('one file and one line in rules, and the console does not compile without its own', () => {
    node.add(
      'src/rules/node/dummy.ts',
      `import { readAssignments } from '../node-content.ts';
import type { NodeKindOf } from './kind.ts';
import type { Assignment } from './parts.ts';
export const dummy: NodeKindOf<'dummy', { readonly assignments: readonly Assignment[] }> = {
  type: 'dummy', fields: ['assignments'], extras: [], outputs: ['default'],
  read: (config, context) => ({ content: { assignments: readAssignments(config, context, true) } }),
};
`,
    );
    node.line(
      'src/rules/node/index.ts',
      'export const nodeKinds = {',
      '  dummy,',
      "import { dummy } from './dummy.ts';\n",
    );
    trigger.add(
      'src/rules/trigger/dummy.ts',
      `import type { TriggerKind } from './kind.ts';
export interface DummyTrigger { readonly type: 'dummy'; readonly every: number }
export const dummy: TriggerKind<DummyTrigger> = {
  type: 'dummy', fields: ['every'],
  read(reader) { const every = reader.integer('every', 1, 10); return every === undefined ? undefined : { every }; },
  text: () => '', points: () => [], deadband: () => null, onEvents: false,
  isDue: ({ every }, { lastScheduledMs }, nowMs) => nowMs - lastScheduledMs >= every * 1000,
  reasons: () => [], nextDueMs: () => null, gateMs: () => 0, periodMs: ({ every }) => every * 1000,
};
`,
    );
    trigger.line(
      'src/rules/trigger/index.ts',
      'const triggerKinds = { interval,',
      ' dummy,',
      "import { dummy } from './dummy.ts';\n",
    );
    const faults = typeFaults(['console/src/node', 'console/src/trigger']).join('\n');
    expect(faults).toContain('console/src/node/index.ts');
    expect(faults).toContain('console/src/trigger/index.ts');
  });

  test('one file and one line in the console', () => {
    node.add(
      'console/src/node/dummy.ts',
      `import type { NodeView } from './view.ts';
export const dummy: NodeView = { title: 'Dummy', about: '', tone: 'plain', parts: ['assignments'], starting: () => ({ assignments: [] }) };
`,
    );
    node.line('console/src/node/index.ts', 'NodeView>> = {', '  dummy,', "import { dummy } from './dummy.ts';\n");
    trigger.add(
      'console/src/trigger/dummy.ts',
      `import type { TriggerView } from './view.ts';
export const dummy: TriggerView = { label: 'Dummy', run: 'dummy', starting: () => ({ type: 'dummy', every: 1 }), Form: () => null };
`,
    );
    trigger.line(
      'console/src/trigger/index.ts',
      'TriggerView>> = {',
      '  dummy,',
      "import { dummy } from './dummy.ts';\n",
    );
    expect(typeFaults(['console/src'])).toEqual([]);
    expect(node.files).toHaveLength(4);
    expect(trigger.files).toHaveLength(4);
  });

  test('a flow with a node of the new kind is read, written and run', () => {
    const answer = ask(`
import { parseFlow, parseTopology } from './src/rules/parse.ts';
import { serialiseTopology } from './src/rules/serialise.ts';
import { compileRule } from './src/rules/compile.ts';
import { createPlan, evaluateRule } from './src/rules/evaluate.ts';
import { createRuleState } from './src/rules/state.ts';
import { createSnapshot } from './src/site/snapshot.ts';
const node = (id: string, type: string, config: object) => ({ id, type, position: { x: 0, y: 0 }, data: { config } });
const catalogue = { timezone: 'UTC', points: [], parameters: [], point: () => undefined, parameter: () => undefined };
const parsed = parseFlow({ nodes: [
  node('s', 'start', { wires: { default: ['d'] } }),
  node('d', 'dummy', { assignments: [{ name: 'x', expression: '1 + 2' }], wires: { default: ['e'] } }),
  node('e', 'end', {}),
] }, catalogue);
if (!parsed.ok) throw new Error(JSON.stringify(parsed));
const text = serialiseTopology(parsed.topology);
const again = parseTopology(JSON.parse(text), catalogue);
const rule = compileRule({ id: 1, revision: 1, priority: 0, periodMs: 1000 }, parsed.topology, catalogue);
const plan = createPlan();
evaluateRule(rule, createSnapshot(0), createRuleState(rule), plan);
console.log(JSON.stringify([text, again.ok, plan.status, rule.frame.slots.includes(3)]));
`);
    expect(answer).toEqual([
      '{"start_node":"s","nodes":{"s":{"type":"start","wires":{"default":["d"]}},"d":{"type":"dummy","assignments":[{"name":"x","expression":"1 + 2"}],"wires":{"default":["e"]}},"e":{"type":"end","wires":{}}}}',
      true,
      'evaluated',
      true,
    ]);
  });

  test('the scheduler runs a rule with the new trigger', () => {
    const answer = ask(`
import { createScheduler } from './src/rules/scheduler.ts';
import { parseTrigger } from './src/rules/trigger/parse.ts';
import { createSnapshot } from './src/site/snapshot.ts';
const catalogue = { timezone: 'UTC', points: [], parameters: [], point: () => undefined, parameter: () => undefined };
const parsed = parseTrigger({ type: 'dummy', every: 2 }, catalogue);
if (!parsed.ok) throw new Error(JSON.stringify(parsed));
const scheduler = createScheduler({ event_min_interval_ms: 20 });
const rule = { id: 1, priority: 0, enabled: true, runnable: true, cooldown_ms: 0, trigger: parsed.trigger, triggerText: '', points: [] };
scheduler.change([rule], []);
const snapshot = createSnapshot(0);
const counts = [0, 1000, 2000].map((nowMs) => {
  const due = scheduler.due(snapshot, 'tick', nowMs);
  for (const { ruleId, dueAtMs } of due) scheduler.finished(ruleId, { scheduled: true, acted: false, snapshot, dueAtMs, endedMs: dueAtMs });
  return due.map(({ trigger }) => trigger.type);
});
console.log(JSON.stringify(counts));
`);
    expect(answer).toEqual([['dummy'], [], ['dummy']]);
  });
});

test('a calendar transform or a substitution method: one entry of one table', () => {
  const change = new Change();
  change.line(
    'src/contract/calendar.ts',
    'export const calendarTransforms = {',
    "  dummy: fromLocalTime('calendar.dummy', () => 7),",
  );
  change.line('src/contract/missing.ts', 'export const substitutions = {', '  dummy: () => 7,');
  const answer = ask(`
import { calendarTransforms, isCalendarTransform } from './src/contract/calendar.ts';
import { substitutionMethods } from './src/contract/missing.ts';
console.log(JSON.stringify([isCalendarTransform('dummy'), Object.keys(calendarTransforms).length, substitutionMethods.includes('dummy')]));
`);
  expect(answer).toEqual([true, 10, true]);
  expect(change.files).toHaveLength(2);
});

test('a protocol: its grammar and its driver, one file and one line each', () => {
  const change = new Change();
  change.add(
    'src/site/protocol/dummy.ts',
    `import Type, { type Static } from 'typebox';
import { decoder } from '../../base/decode.ts';
import { strict } from '../../base/schema.ts';
import { identifier, type Protocol } from './protocol.ts';
const settings = strict({ id: identifier, driver: Type.Literal('dummy') });
const address = strict({ slot: Type.Integer() });
export const dummy: Protocol<Static<typeof settings>, Static<typeof address>> = {
  settings: decoder(settings), address: decoder(address), defaultMaxAgeMs: () => 7000,
};
`,
  );
  change.line(
    'src/site/protocol/index.ts',
    "const protocols = { 'modbus-tcp': modbus,",
    ' dummy,',
    "import { dummy } from './dummy.ts';\n",
  );
  const site = `schema: svc.site.v1
site: { id: plant, name: Plant, timezone: UTC }
channels: [{ id: one, driver: dummy }]
instances:
  - id: 1
    name: tank
    points: [{ id: 1, name: level, kind: measurement, unit: m, channel: one, address: { slot: 3 } }]
`;
  const answer = ask(`
import { readSite } from './src/site/site.ts';
const { points } = readSite(${JSON.stringify(site)}, 'site.yaml');
console.log(JSON.stringify(points.map(({ address, maxAgeMs }) => [address, maxAgeMs])));
`);
  expect(answer).toEqual([[{ slot: 3 }, 7000]]);
  change.add(
    'src/devices/driver/dummy.ts',
    `import type { Driver, DriverContext } from '../driver.ts';
export const createDummyDriver = (context: DriverContext): Driver => ({
  start: () => context.setOnline(true), wake() {}, stop: async () => {},
});
`,
  );
  change.line(
    'src/devices/driver/index.ts',
    '} = {',
    '  dummy: (_, context) => createDummyDriver(context),',
    "import { createDummyDriver } from './dummy.ts';\n",
  );
  const online = ask(`
import { createDriver } from './src/devices/driver/index.ts';
const seen = [];
const driver = createDriver({ id: 'one', driver: 'dummy' }, { setOnline: (online) => seen.push(online) }, {});
driver.start();
console.log(JSON.stringify(seen));
`);
  expect(online).toEqual([true]);
  expect(change.files).toHaveLength(4);
});

test('a transport to a processor: one file and one line', () => {
  const change = new Change();
  change.add(
    'src/processing/processor/transport/dummy.ts',
    `import type { Transport } from './transport.ts';
export const dummy: Transport = ({ id }) => ({
  id, breakerOpen: () => false,
  process: async () => ({ outcome: 'timeout' }),
  health: async () => ({ health: 'unavailable', latencyMs: null }),
});
`,
  );
  change.line(
    'src/processing/processor/transport/index.ts',
    'Readonly<Record<string, Transport>> = {',
    " 'dummy:': dummy,",
    "import { dummy } from './dummy.ts';\n",
  );
  const answer = ask(`
import { endpointFault } from './src/processing/commission/egress.ts';
import { reachProcessor } from './src/processing/processor/transport/index.ts';
const processor = reachProcessor({ id: 'one', endpoint: 'dummy://localhost/' }, {});
console.log(JSON.stringify([endpointFault('dummy://localhost/', 'local'), await processor.process()]));
`);
  expect(answer).toEqual([null, { outcome: 'timeout' }]);
  expect(change.files).toHaveLength(2);
});

test('a command on a running service: one entry, from the descriptor of its operation', () => {
  const change = new Change();
  change.add(
    'src/cli/operation/dummy.ts',
    `import { automation } from '../../api/automation.ts';
import { operationCommand } from './operation-command.ts';
export const dummy = operationCommand('rules dummy', automation.history, { print: (terminal, { data }) => terminal.out(String(data.list.length)) });
`,
  );
  change.line(
    'src/cli/operation/index.ts',
    'readonly OperationCommand[] = [',
    '  dummy,',
    "import { dummy } from './dummy.ts';\n",
  );
  const answer = ask(`
import { createProgram } from './src/cli/program.ts';
const terminal = { out: () => undefined, error: () => undefined };
const rules = createProgram({ terminal, version: '0' }, null).commands.find((command) => command.name() === 'rules');
const dummy = rules.commands.find((command) => command.name() === 'dummy');
console.log(JSON.stringify([dummy.description(), dummy.options.map(({ flags }) => flags)]));
`);
  expect(answer).toEqual([
    'read the executions of a rule, newest first',
    [
      '--before <text>',
      '--limit <number>',
      '--from <text>',
      '--to <text>',
      '--changes <text>',
      '--outcome <text>',
      '--json',
    ],
  ]);
  expect(change.files).toHaveLength(2);
});

test('nothing but a registry names all kinds', () => {
  const lists = repositoryFiles()
    .filter(({ path }) => /^(src|console\/src)\/.*\.tsx?$/.test(path) && !path.endsWith('.test.ts'))
    .filter(({ text }) => /'calculation'/.test(text) && /'period-delta'/.test(text))
    .map(({ path }) => path);
  // Each names the type of the first dialect that a type of the second becomes.
  expect(lists).toEqual(['console/src/editor/node-kinds.ts', 'src/rules/custom-dialect.ts']);
});
