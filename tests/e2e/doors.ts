/**
 * One operation through several doors [platform §7], [platform §8]: its effect on the stored rules and the audit trail,
 * without what differs in any two runs.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect } from 'vitest';
import { alarms } from '../../src/api/alarms.ts';
import { automation } from '../../src/api/automation.ts';
import { points } from '../../src/api/points.ts';
import { revisions } from '../../src/api/revisions.ts';
import { ruleFiles } from '../../src/api/rule-files.ts';
import { ruleTemplates } from '../../src/api/rule-templates.ts';
import { canonicalJson } from '../../src/base/canonical-json.ts';
import { sha256Hex } from '../../src/base/digest.ts';
import { openDatabase } from '../../src/databases/site-database.ts';
import { afterThisTest } from './per-test.ts';
import {
  editorFlow,
  programFile,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestFolders,
  type TestService,
  testFolders,
  virtualSite,
  waitFor,
} from './running-service.ts';

export const changes = {
  ...automation,
  ...points,
  ...alarms,
  restore: revisions.restore,
  duplicate: revisions.duplicate,
  apply: ruleFiles.apply,
  instantiate: ruleTemplates.instantiate,
  templateUpdate: ruleTemplates.update,
} as const;

/** One change in the form that each door takes. */
export interface Step {
  readonly operation: keyof typeof changes;
  readonly id?: number;
  /** Other path parameters. `OVERRIDE`, here and in the command, is replaced by the id of the active override. */
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly command: readonly string[];
}

const trigger = { type: 'interval', interval_ms: 60_000 };
const flow = editorFlow('x > 1000');

const pump = { instance: '1', point: '1' };
/** Points for rule 1 as a template. */
const templatePoints = {
  x: { instance: 1, point_type: 'measurement', point: 1 },
  pump: { instance: 1, point_type: 'action', point: 1 },
} as const;

export function steps(of: TestFolders): readonly Step[] {
  const flowFile = join(of.config, 'flow.json');
  writeFileSync(flowFile, JSON.stringify(flow));
  return [
    {
      operation: 'create',
      body: { name: 'Fill', description: 'fills the tank' },
      command: ['rules', 'create', '--name', 'Fill', '--description', 'fills the tank'],
    },
    {
      operation: 'update',
      id: 1,
      body: { flow_json: flow, trigger_config: trigger, priority: 7, cooldown_ms: 500 },
      command: [
        'rules',
        'update',
        '1',
        '--flow',
        flowFile,
        '--trigger',
        JSON.stringify(trigger),
        '--priority',
        '7',
        '--cooldown-ms',
        '500',
      ],
    },
    { operation: 'enable', id: 1, command: ['rules', 'enable', '1'] },
    { operation: 'reload', command: ['scheduler', 'reload'] },
    { operation: 'disable', id: 1, command: ['rules', 'disable', '1'] },
    {
      operation: 'enable',
      id: 1,
      body: { mode: 'shadow' },
      command: ['rules', 'enable', '1', '--mode', 'shadow'],
    },
    { operation: 'promote', id: 1, command: ['rules', 'promote', '1'] },
    { operation: 'disable', id: 1, command: ['rules', 'disable', '1'] },
    { operation: 'create', body: { name: 'Second' }, command: ['rules', 'create', '--name', 'Second'] },
    {
      operation: 'update',
      id: 2,
      body: { description: null, name: 'Renamed' },
      command: ['rules', 'update', '2', '--name', 'Renamed', '--no-description'],
    },
    { operation: 'execute', id: 1, command: ['rules', 'execute', '1'] },
    { operation: 'create', body: { name: 'Third' }, command: ['rules', 'create', '--name', 'Third'] },
    {
      operation: 'remove',
      id: 2,
      body: { reason: 'done' },
      command: ['rules', 'delete', '2', '--force', '--reason', 'done'],
    },
    {
      operation: 'restore',
      id: 2,
      body: { revision: 1, expected_revision: 3, reason: 'needed after all' },
      command: 'rules restore 2 --revision 1 --expected-revision 3 --reason'.split(' ').concat('needed after all'),
    },
    {
      operation: 'duplicate',
      id: 1,
      body: { name: 'Fill two' },
      command: ['rules', 'duplicate', '1', '--name', 'Fill two'],
    },
    applyStep(of),
    {
      operation: 'instantiate',
      body: { template: 'rule:1', name: 'Fill three', points: templatePoints, reason: 'a third' },
      command: [
        'rules',
        'instantiate',
        '--template',
        'rule:1',
        '--name',
        'Fill three',
        '--points',
        JSON.stringify(templatePoints),
        '--reason',
        'a third',
      ],
    },
    { operation: 'templateUpdate', id: 6, command: ['rules', 'template-update', '6'] },
    ...operatorSteps(),
    // The console offers this for several alarms alone.
    {
      operation: 'acknowledgeMany',
      body: { alarm_ids: ['override-active', 'audit-broken'] },
      command: ['alarms', 'acknowledge-many', '--ids', '["override-active","audit-broken"]'],
    },
    // This one expires by itself.
    {
      operation: 'override',
      params: pump,
      body: { value: 30, for_seconds: 1, reason: 'for a moment' },
      command: ['points', 'override', '1', '1', '--value', '30', '--for', '1', '--reason', 'for a moment'],
    },
  ];
}

/** The plan with one new rule. */
function applyStep(of: TestFolders): Step {
  const rules = [{ key: 'lamp', name: 'Lamp' }];
  const changes = [['lamp', 'create', null, null]];
  const digest = sha256Hex(canonicalJson({ rules, changes }));
  const planFile = join(of.config, 'plan.json');
  writeFileSync(
    planFile,
    JSON.stringify({ schema: 'svc.rule-plan.v1', digest, rules, changes: [{ key: 'lamp', action: 'create' }] }),
  );
  const reason = 'a lamp';
  return { operation: 'apply', body: { rules, digest, reason }, command: ['apply', planFile, '--reason', reason] };
}

/** The steps of an operator, which the console offers too. */
export function operatorSteps(): readonly Step[] {
  return [
    {
      operation: 'override',
      params: pump,
      body: { value: 20, for_seconds: 300, reason: 'at the door' },
      command: ['points', 'override', '1', '1', '--value', '20', '--for', '300', '--reason', 'at the door'],
    },
    {
      operation: 'acknowledge',
      params: { alarm_id: 'override-active' },
      command: ['alarms', 'acknowledge', 'override-active'],
    },
    {
      operation: 'shelve',
      params: { alarm_id: 'override-active' },
      body: { for_seconds: 900, reason: 'at the door' },
      command: ['alarms', 'shelve', 'override-active', '--for', '900', '--reason', 'at the door'],
    },
    {
      operation: 'unshelve',
      params: { alarm_id: 'override-active' },
      command: ['alarms', 'unshelve', 'override-active'],
    },
    { operation: 'release', params: { override_id: 'OVERRIDE' }, command: ['points', 'release', 'OVERRIDE'] },
    {
      operation: 'limit',
      params: pump,
      body: { max: 50, for_seconds: 300, reason: 'at the door' },
      command: ['points', 'limit', '1', '1', '--max', '50', '--for', '300', '--reason', 'at the door'],
    },
    {
      operation: 'parameterUpdate',
      params: { name: 'limit' },
      body: { value: 12, reason: 'at the door' },
      command: ['parameters', 'update', 'limit', '--value', '12', '--reason', 'at the door'],
    },
    { operation: 'parameterReset', params: { name: 'limit' }, command: ['parameters', 'reset', 'limit'] },
  ];
}

export type Door = (service: TestService, step: Step) => Promise<void>;

export const byHttp: Door = async (service, { operation, id, params = {}, body }) => {
  const { method, path } = changes[operation];
  const place = Object.entries({ id: String(id), ...params }).reduce(
    (text, [name, value]) => text.replace(`:${name}`, value),
    path as string,
  );
  const answer = await service.request(method, place, {
    // Where the header alone confirms, it does so here.
    ...(changes[operation].confirmedIn === 'header' ? {} : { body: { ...body, confirmed: true } }),
    headers: { 'x-svc-confirmed': 'true' },
  });
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
};

export const byCommand: Door = async (service, { command }) => {
  const env = {
    ...serviceEnvironment(service.folders),
    SVC_BASE_URL: service.base,
    SVC_ACCESS_TOKEN: await service.token('Engineer'),
  };
  const confirmed = command.includes('reload') ? command : [...command, '--confirmed'];
  const result = runCommand('setpoint', confirmed, env);
  // Without a measured level the run is skipped, and says so.
  expect([result.status, result.stdout, result.stderr]).toEqual([
    command.includes('execute') ? 1 : 0,
    expect.stringMatching(/./),
    command.includes('execute') ? 'setpoint: the run ended as skipped\n' : '',
  ]);
};

export async function toolDoor(service: TestService): Promise<{ door: Door; close: () => Promise<void> }> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [programFile('setpoint'), 'mcp', '--allow-write'],
    env: { SVC_BASE_URL: service.base, SVC_ACCESS_TOKEN: await service.token('Engineer') },
  });
  await client.connect(transport);
  const door: Door = async (_service, { operation, id, params, body }) => {
    const name = changes[operation].name.replaceAll('.', '_');
    const given = { ...(id === undefined ? {} : { id }), ...params, ...body, confirmed: true };
    const result = await client.callTool({ name, arguments: given });
    expect(result, JSON.stringify(result.content)).toMatchObject({ structuredContent: { success: true } });
    expect(result.isError).toBeUndefined();
  };
  return { door, close: () => client.close() };
}

async function withOverride(service: TestService, step: Step): Promise<Step> {
  if (step.operation === 'acknowledge')
    await waitFor(async () =>
      (await service.read('/alarms?state=active-unacknowledged')).text.includes('override-active'),
    );
  if (!step.command.includes('OVERRIDE')) return step;
  const { text } = await service.read('/overrides');
  const id = (JSON.parse(text) as { data: { list: { override_id: string }[] } }).data.list[0]?.override_id ?? '';
  return { ...step, params: { override_id: id }, command: step.command.map((word) => word.replace('OVERRIDE', id)) };
}

/** The result of the steps: rules and audit events, without the parts that differ in every run. */
export async function trace(
  open: (service: TestService) => Promise<{ door: Door; close: () => Promise<void> }>,
  stepsIn: (of: TestFolders) => readonly Step[] = steps,
) {
  const of = testFolders(virtualSite);
  afterThisTest(of.remove);
  const service = await startTestService(of);
  afterThisTest(() => service.stop());
  const { door, close } = await open(service);
  afterThisTest(close);
  for (const step of stepsIn(of)) await door(service, await withOverride(service, step));
  await waitFor(async () => !(await service.read('/overrides')).text.includes('"kind":"override"'));
  // An override that expires by itself is recorded once it has ended.
  if (stepsIn(of).at(-1)?.operation === 'override')
    await waitFor(async () => {
      const headers = { authorization: `Bearer ${await service.token('Admin')}` };
      const { text } = await service.request('GET', '/api/v1/audit/events?limit=1', { headers });
      return text.includes('automation.point.expire') || undefined;
    });
  const database = openDatabase(join(of.data, 'site.sqlite'));
  const rules = await database.query.selectFrom('rules').selectAll().orderBy('id').execute();
  const kept = await database.query
    .selectFrom('rule_revision')
    .selectAll()
    .orderBy('rule_id')
    .orderBy('revision')
    .execute();
  const events = await database.query
    .selectFrom('audit_event as event')
    .innerJoin('audit_chain as chain', 'chain.chain_id', 'event.chain_id')
    .leftJoin('audit_details as details', (join) =>
      join.onRef('details.chain_id', '=', 'event.chain_id').onRef('details.sequence', '=', 'event.sequence'),
    )
    .select(['event.sequence', 'subject_kind', 'subject_id', 'action', 'resource_kind', 'resource_id', 'outcome'])
    .select(['risk', 'confirmation', 'details'])
    .where('chain.log', '=', 'events')
    .orderBy('event.sequence')
    .execute();
  await database.close();
  const timeless = (text: string | null) =>
    text
      ?.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
      .replaceAll(/"duration_us":\d+/g, '"duration_us":0');
  return {
    revisions: kept.map(({ created_at: _created, updated_at: _updated, correlation_id: _id, ...row }) => row),
    rules: rules.map(({ created_at: _created, updated_at: _updated, ...rule }) => rule),
    events: events.map(({ details, ...event }) => ({ ...event, details: timeless(details) })),
  };
}
