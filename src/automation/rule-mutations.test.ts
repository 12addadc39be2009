/** Warnings of PUT and enable in their answers [rules §2.3], [rules §4.5], with a real store and a real engine. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Answer } from '../api/capability.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { openDatabase } from '../databases/site-database.ts';
import { beginGeneration, createPointMemory } from '../points/shared-memory.ts';
import type { Issue } from '../rules/issues.ts';
import { flowLimits } from '../rules/limits.ts';
import type { Database } from '../storage/database.ts';
import { engines, type TestPlaces, testPlaces } from '../testing/engines.ts';
import { simulatedClock, turnUntil } from '../testing/simulated-clock.ts';
import { editorNode, flowDocument, inputNode } from '../testing/site-builder.ts';
import { tankSetup, tankSite, testAct } from '../testing/tank-site.ts';
import { noCallAudit } from '../testing/test-gateway.ts';
import { createEngineClient, type EngineThread } from './engine-client.ts';
import { automationLimits } from './limits.ts';
import { parametersInForce } from './parameters-in-force.ts';
import { createRuleMutations } from './rule-mutations.ts';
import { startEngineTwin } from './start-engine.ts';
import { createRevisionReader } from './store/revision-store.ts';
import { createRuleStore } from './store/rule-store.ts';
import { createRunReader } from './store/run-store.ts';
import { openRuntimeDatabase, type RuntimeDatabase } from './store/runtime-database.ts';

/** Its measurement 2 holds text, and it has an action 3 with a safe value. */
const site = {
  ...tankSite,
  points: tankSite.points.flatMap((point) => {
    if (point.name === 'trend') return [{ ...point, isText: true }];
    return point.name === 'valve' ? [point, { ...point, index: 4, id: 3, safeValue: 0, holdMaxMs: 1000 }] : [point];
  }),
};
const write = (point: number, point_type = 'action') => ({ instance: 1, point_type, point, value: 1 });
/** One action for each write: 'act', then 'act1', 'act2' … */
const writing = (...writes: ReturnType<typeof write>[]) =>
  flowDocument('in', [
    inputNode(['act'], ['x']),
    ...writes.map((each, index) => {
      const next = index + 1 < writes.length ? `act${index + 1}` : 'end';
      return editorNode(`act${index || ''}`, 'action', { writes: [each], wires: { default: [next] } });
    }),
  ]);
const onChangeOf = (point: number, point_type = 'action') => ({
  type: 'on_change',
  point_refs: [{ instance: 1, point_type, point }],
  time_deadband_ms: 0,
  value_deadband: null,
});

describe.each(engines)('warnings beside the result, on %s', (engine) => {
  let places: TestPlaces;
  let database: Database;
  let runtime: RuntimeDatabase;
  let threads: EngineThread[] = [];
  let client: ReturnType<typeof createEngineClient>;
  let call: (name: string, id: number | undefined, body: object) => Promise<Answer>;
  const clock = simulatedClock();

  beforeEach(async () => {
    places = await testPlaces(engine);
    database = openDatabase(places.site);
    await database.ready();
    runtime = openRuntimeDatabase(places.runtime);
    await runtime.ready();
    const store = createRuleStore(database, clock, automationLimits.max_rules);
    const memory = createPointMemory(site.points, site.channels.length);
    beginGeneration(memory);
    threads = [];
    client = createEngineClient({
      start(parameters) {
        const setup = tankSetup({
          site: { ...site, parameters },
          memory,
          database: places.runtime,
          dataFolder: places.folder,
        });
        const thread = startEngineTwin(setup, clock, silentLog);
        threads.push(thread);
        return thread;
      },
      rules: store,
      parameters: site.parameters,
      clock,
      log: silentLog,
      limits: automationLimits,
      onExecutions: () => undefined,
      onGrantsEnded: () => undefined,
      onStart: () => undefined,
    });
    await client.open();
    const parameters = parametersInForce(() => site, site.parameters, { all: async () => new Map() });
    const bound = createRuleMutations({
      clock: systemClock,
      flowLimits,
      tickIntervalMs: 100,
      requireTests: false,
      store,
      revisions: createRevisionReader(database),
      runs: createRunReader(runtime),
      engine: client,
      site: () => site,
      catalogue: parameters.catalogue,
      parameters,
      readFile: () => Promise.resolve({ parameters: site.parameters, otherChanges: [] }),
      snapshot: () => null,
      log: silentLog,
    });
    call = async (name, id, body) => {
      const capability = bound.find(({ descriptor }) => descriptor.name === `automation.rule.${name}`);
      if (capability === undefined) throw new Error(`no ${name}`);
      return capability.handler({
        subject: null,
        correlationId: 'c',
        params: id === undefined ? {} : { id: `${id}` },
        query: {},
        body,
        ifMatch: undefined,
        header: () => undefined,
        lastEventId: undefined,
        requestId: undefined,
        audit: noCallAudit,
      });
    };
  });
  afterEach(async () => {
    await turnUntil(clock, client.close());
    await database.close();
    await runtime.close();
    await places.remove();
  });

  const dataOf = ({ data }: Answer): { id: number; warnings?: Issue[] } =>
    (data as { data: { id: number; warnings?: Issue[] } }).data;
  const warningsOf = (answer: Answer): string[] | undefined =>
    dataOf(answer).warnings?.map(({ code, path, node_id: nodeId }) => [code, path, nodeId ?? '-'].join(' '));
  const create = async (flow: object, more: object = {}): Promise<number> => {
    const { id } = dataOf(await call('create', undefined, { name: 'rule' }));
    await call('update', id, { flow_json: flow, ...more });
    return id;
  };
  const shared = (nodeId: string): string => `shared-point /flow_json ${nodeId}`;

  test('enable: no warning alone, one for each other enabled rule and point, none for disabled rules', async () => {
    const first = await create(writing(write(1), write(2)));
    const second = await create(writing(write(2), write(2, 'measurement')));
    const third = await create(writing(write(1)));
    expect(warningsOf(await call('enable', first, {}))).toBeUndefined();
    const answer = await call('enable', second, {});
    expect(warningsOf(answer)).toEqual([shared('act')]);
    expect(dataOf(answer).warnings?.[0]).toMatchObject({
      message: 'the rule "rule" is enabled and writes valve of instance 1 too',
      hint: expect.any(String),
    });
    await call('disable', first, {});
    expect(warningsOf(await call('enable', third, {}))).toBeUndefined();
    expect(warningsOf(await call('enable', first, {}))).toEqual([shared('act1'), shared('act')]);
  });

  test('two rules enabled at the same moment: one of them gets the warning', async () => {
    const ids = [await create(writing(write(1))), await create(writing(write(1)))];
    const answers = await Promise.all(ids.map((id) => call('enable', id, {})));
    expect(answers.flatMap((answer) => warningsOf(answer) ?? [])).toContain(shared('act'));
  });

  test('PUT: warnings of an enabled rule follow its new writes; a disabled rule causes none', async () => {
    const first = await create(writing(write(1)));
    const second = await create(writing(write(2)));
    await call('enable', first, {});
    const both = { flow_json: writing(write(2), write(1)) };
    expect(warningsOf(await call('update', second, both))).toEqual([]);
    await call('update', second, { flow_json: writing(write(2)) });
    expect(warningsOf(await call('enable', second, {}))).toBeUndefined();
    expect(warningsOf(await call('update', second, both))).toEqual([shared('act1')]);
    expect(warningsOf(await call('update', second, { name: 'other' }))).toEqual([shared('act1')]);
    expect(warningsOf(await call('update', second, { flow_json: writing(write(2)) }))).toEqual([]);
  });

  test('two rules writing one virtual measurement', async () => {
    const [first, second] = [
      await create(writing(write(2, 'measurement'))),
      await create(writing(write(2, 'measurement'))),
    ];
    await call('enable', first, {});
    expect(warningsOf(await call('enable', second, {}))).toEqual([shared('act')]);
  });

  test('a point that one rule writes twice is its own affair', async () => {
    const id = await create(writing(write(1), write(1)));
    expect(warningsOf(await call('enable', id, {}))).toBeUndefined();
  });

  test('a point with text that the rule reads: said by PUT and by enable', async () => {
    const reading = flowDocument('in', [inputNode(['end'], ['x', 'y'])]);
    const id = await create(reading);
    const text = 'text-point /flow_json in';
    expect(warningsOf(await call('update', id, { flow_json: reading }))).toEqual([text]);
    expect(warningsOf(await call('enable', id, {}))).toEqual([text]);
  });

  test('a safe value between two writes: said by PUT of flow and of cooldown, and by enable', async () => {
    const seldom = 'safe-value-between-writes /flow_json act';
    const id = await create(writing(write(3)), { trigger_config: { type: 'interval', interval_ms: 900 } });
    expect(warningsOf(await call('update', id, { flow_json: writing(write(3)) }))).toEqual([]);
    expect(warningsOf(await call('update', id, { cooldown_ms: 1000 }))).toEqual([seldom]);
    expect(warningsOf(await call('enable', id, {}))).toEqual([seldom]);
  });

  test('triggered by its own write: said by PUT of flow, of trigger and of either later, and by enable', async () => {
    const own = 'subscribed-to-own-write /trigger_config/point_refs/0 act';
    const id = await create(writing(write(1)));
    expect(warningsOf(await call('update', id, { trigger_config: onChangeOf(1) }))).toEqual([own]);
    expect(warningsOf(await call('update', id, { trigger_config: onChangeOf(1, 'measurement') }))).toEqual([]);
    expect(warningsOf(await call('update', id, { trigger_config: onChangeOf(2) }))).toEqual([]);
    expect(warningsOf(await call('update', id, { flow_json: writing(write(2)) }))).toEqual([own]);
    expect(warningsOf(await call('enable', id, {}))).toEqual([own]);
    expect(warningsOf(await call('update', id, { trigger_config: null }))).toEqual([]);
  });

  test('[rules §4.5] rules that start each other: said when the last of them is enabled or saved, naming all', async () => {
    const first = await create(writing(write(1)), { trigger_config: onChangeOf(2) });
    const second = await create(writing(write(2)), { trigger_config: onChangeOf(1) });
    expect(warningsOf(await call('enable', first, {}))).toBeUndefined();
    const answer = await call('enable', second, {});
    expect(warningsOf(answer)).toEqual(['write-cycle /trigger_config -']);
    expect(dataOf(answer).warnings?.[0]?.message).toBe(
      `the rule writes a point that starts rule ${first}, which starts this rule again`,
    );
    expect(warningsOf(await call('update', first, { name: 'one' }))).toEqual(['write-cycle /trigger_config -']);
    expect(warningsOf(await call('update', first, { trigger_config: null }))).toEqual([]);
  });

  test('the flow’s own warnings are first', async () => {
    const id = await create(writing(write(1)), { trigger_config: onChangeOf(1) });
    const flow = writing(write(1));
    const nodes = [...(flow['nodes'] as object[]), editorNode('lost', 'action', { writes: [write(2)] })];
    expect(warningsOf(await call('update', id, { flow_json: { ...flow, nodes } }))).toEqual([
      'unreachable-node /flow_json/nodes/4 lost',
      'subscribed-to-own-write /trigger_config/point_refs/0 act',
    ]);
  });

  test('[rules §2.3] a name has 1 to 128 characters, independent of their width', async () => {
    const { id } = dataOf(await call('create', undefined, { name: ` ${'🔋'.repeat(128)} ` }));
    for (const name of ['🔋'.repeat(129), 'x'.repeat(129), '  ']) {
      await expect(call('create', undefined, { name })).rejects.toMatchObject({ code: 'invalid-input' });
      await expect(call('update', id, { name })).rejects.toMatchObject({ code: 'invalid-input' });
    }
    await call('update', id, { name: 'x'.repeat(128) });
  });

  test('[rules §9] executing a rule that another process imported fails until a reload, with an error that asks for one', async () => {
    const { id } = await createRuleStore(database, clock, automationLimits.max_rules).create(
      { name: 'imported' },
      testAct,
    );
    /** The engine handles an order in its next turn. */
    const execute = (ruleId: number): Promise<unknown> =>
      turnUntil(
        clock,
        call('execute', ruleId, {}).catch((error: unknown) => error),
      );
    expect(await execute(id)).toMatchObject({
      code: 'engine-unavailable',
      message: `rule ${id} is stored but not loaded: reload the scheduler`,
    });
    await client.reload();
    expect(await execute(id)).toMatchObject({ code: 'no-runnable-flow' });
    expect(await execute(id + 1)).toMatchObject({ code: 'not-found' });
  });

  test('a stub has no flow that can run', async () => {
    const { id } = dataOf(await call('create', undefined, { name: 'stub' }));
    expect(warningsOf(await call('enable', id, {}))).toEqual(['no-runnable-flow /flow_json -']);
  });

  test('without an engine the change is stored all the same, and nothing is warned about', async () => {
    const first = await create(writing(write(1)));
    const second = await create(writing(write(1)));
    await call('enable', first, {});
    await threads[0]?.terminate();
    expect(warningsOf(await call('enable', second, {}))).toBeUndefined();
    expect(warningsOf(await call('update', second, { name: 'stored' }))).toEqual([]);
  });
});
