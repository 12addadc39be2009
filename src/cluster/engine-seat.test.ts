/** Requests to the engine between the processes of one site, and deadlines on clocks that the processes do not share. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EngineClient } from '../automation/engine-client.ts';
import type { EngineMethods } from '../automation/engine-contract.ts';
import { automationLimits } from '../automation/limits.ts';
import { type ParametersInForce, parametersInForce } from '../automation/parameters-in-force.ts';
import { type Log, silentLog } from '../base/log.ts';
import type { Grant } from '../rules/authority.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { tankSite } from '../testing/tank-site.ts';
import { createEngineSeat, type EngineSeat } from './engine-seat.ts';
import type { Mail, Mailbox, News } from './mailbox.ts';

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe('the engine of a leader', () => {
  let sent: { recipient: string; message: unknown }[] = [];
  let warnings: string[] = [];
  let watched: (readonly number[])[] = [];
  let deliver: (mail: Mail) => void = () => undefined;
  let hear: (what: News) => void = () => undefined;
  let announced: News[] = [];
  let changes: string[] = [];
  let starts = 0;
  let stored = new Map<string, number>();
  let parameters: ParametersInForce;
  let seat: EngineSeat;
  const mailbox: Mailbox = {
    name: 'here',
    send: async (recipient, message) => void sent.push({ recipient, message }),
    alsoFor: () => undefined,
    onMail(listener) {
      deliver = listener;
    },
    announce: async (what) => void announced.push(what),
    onNews(listener) {
      hear = listener;
    },
    close: async () => undefined,
  };
  const log: Log = { ...silentLog, warn: (message) => void warnings.push(message) };
  const unavailable = async (): Promise<never> => {
    throw new TypeError('an error of ours');
  };
  const answers: Partial<EngineMethods> = {
    explain: ({ ruleIds }) => ruleIds.map(() => null),
    explainAsText: ({ ruleIds }) => ruleIds.map(() => 'null').join('\n'),
    writers: () => [],
    writeCycle: () => null,
  };
  const answered: EngineClient['ask'] = async (method, argument) => {
    const answer = answers[method];
    if (answer === undefined) throw new TypeError('an error of ours');
    return Promise.resolve(Reflect.apply(answer, undefined, [argument]) as never);
  };
  const engine: EngineClient = {
    open: unavailable,
    reload: async (given) => ({ rules_loaded: Object.keys(given ?? {}).length, rules_failed: [] }),
    takeStored: unavailable,
    execute: unavailable,
    grant: unavailable,
    ask: answered,
    settle: async () => undefined,
    status: async () => null,
    measures: async () => null,
    watch: (ruleIds) => void watched.push(ruleIds),
    restarts: () => 0,
    tickIntervalMs: 100,
    close: async () => undefined,
  };
  const clock = simulatedClock();
  const report = { rules_loaded: 1, rules_failed: [] };
  beforeEach(() => {
    [sent, warnings, watched, announced, changes, starts] = [[], [], [], [], [], 0];
    stored = new Map();
    parameters = parametersInForce(
      () => tankSite,
      { limit: { value: 5, unit: undefined } },
      { all: async () => stored },
    );
    seat = createEngineSeat({
      mailbox,
      clock,
      log,
      limits: automationLimits,
      onExecutions(records) {
        for (const record of records) expect(record).toBeDefined();
      },
      onStart: () => void starts++,
      onChange: (what) => void changes.push(what),
      parameters,
    });
  });
  afterEach(() => seat.close());
  const ask = async (method: unknown, argument: unknown) => {
    deliver({ sender: 'other', message: { tag: 'call', id: 1, method, argument } });
    await settle();
    return sent.splice(0);
  };

  test('answers another process', async () => {
    seat.sit(engine);
    expect(await ask('explain', { ruleIds: [1, 2], more: true })).toEqual([
      { recipient: 'other', message: { tag: 'reply', id: 1, value: [null, null] } },
    ]);
    expect(await ask('explainAsText', { ruleIds: [1, 2] })).toMatchObject([{ message: { value: 'null\nnull' } }]);
    const inFile = { limit: { value: 1 }, power: { value: 2, unit: 'kW' } };
    expect(await ask('reload', { ids: [], removed: [], parameters: inFile })).toMatchObject([
      { message: { value: { rules_loaded: 2 } } },
    ]);
    expect(warnings).toEqual([]);
    expect(parameters.current()).toEqual(inFile);
  });

  test('[points §7.1] an override of a process with a wrong clock lasts as long as it was asked for, by the clock here', async () => {
    const asked: { readonly grant: Grant } = {
      grant: {
        kind: 'override',
        value: 7,
        id: '1.1.x',
        instance: 1,
        point: 1,
        fromMs: clock.wallMs() - 3_600_000,
        untilMs: clock.wallMs() - 3_540_000,
        by: { kind: 'user', id: 'ada' },
        reason: 'a test',
      },
    };
    seat.sit({ ...engine, grant: async (granted) => ({ granted, replaced: null }) });
    const [fromMs, untilMs] = [clock.wallMs(), clock.wallMs() + 60_000];
    expect(await ask('grant', asked)).toMatchObject([
      { message: { value: { granted: { ...asked.grant, fromMs, untilMs }, replaced: null } } },
    ]);
  });

  test('parameters that its engine does not take are not in force', async () => {
    seat.sit({ ...engine, reload: unavailable });
    await ask('reload', { ids: [], removed: [], parameters: { limit: { value: 1 } } });
    expect(parameters.current()).toEqual({ limit: { value: 5, unit: undefined } });
  });

  test('[points §9] values that another process stored are read here, so that the last of several changes finds all', async () => {
    const took: unknown[] = [];
    const reload: EngineClient['reload'] = async (now) => {
      took.push(now?.['limit']?.value);
      return report;
    };
    seat.sit({ ...engine, reload });
    stored.set('limit', 7);
    await ask('reload', { ids: [], removed: [] });
    // Its sender read it before the other one's change.
    await ask('reload', { ids: [], removed: [], parameters: { limit: { value: 5 } } });
    expect([took, parameters.current()['limit']?.value]).toEqual([[7, 7], 7]);
  });

  test.for([
    ['a method of another version', 'forget', null],
    ['a method of every object', 'toString', null],
    ['no method', undefined, undefined],
    ['an argument that is missing', 'explain', null],
    ['a rule that is missing', 'explainAsText', { ruleIds: null }],
    ['an argument of another kind', 'watch', { ruleIds: 7 }],
    ['a rule of another kind', 'execute', { ruleId: '1', correlationId: 'x' }],
    ['points of another kind', 'writers', { points: [1] }],
    ['points by number', 'authority', { points: [0] }],
    ['a sample without a numbering', 'sample', null],
    ['a rule of another kind', 'writeCycle', { ruleId: '1' }],
    ['parameters of another kind', 'reload', { parameters: { limit: 3 } }],
    ['an error that is not a refusal', 'execute', { ruleId: 1, correlationId: 'x' }],
  ] as const)('refuses %s, says so in the log, and goes on', async ([_what, method, argument]) => {
    seat.sit(engine);
    watched = [];
    expect(await ask(method, argument)).toMatchObject([
      { recipient: 'other', message: { tag: 'reply', id: 1, fault: { code: 'engine-unavailable' } } },
    ]);
    expect(warnings).toEqual(['cannot decode a request from another process']);
    expect(watched).toEqual([]);
    expect(await ask('explain', { ruleIds: [1] })).toMatchObject([{ message: { value: [null] } }]);
  });

  test('a process that does not control refuses, which is nothing to tell the operator', async () => {
    expect(await ask('explain', { ruleIds: [1] })).toMatchObject([
      { message: { fault: { code: 'engine-unavailable' } } },
    ]);
    expect(warnings).toEqual([]);
  });

  test('invalid messages change nothing', async () => {
    for (const message of [null, 3, {}, { tag: 'event' }, { tag: 'event', event: { type: 'other' } }, { tag: 'reply' }])
      deliver({ sender: 'other', message });
    await settle();
    expect(sent).toEqual([]);
  });

  const reply = (value: unknown): void => deliver({ sender: 'other', message: { tag: 'reply', id: 1, value } });

  test('an override is answered with the times of the leader, or with the given ones if the leader is older', async () => {
    const grant = { kind: 'override', value: 7, id: '1.1.x', fromMs: 0, untilMs: 60_000 } as Grant;
    const granted = { ...grant, fromMs: 5, untilMs: 60_005 };
    const taken = seat.grant(grant);
    reply({ granted, replaced: null });
    expect(await taken).toEqual({ granted, replaced: null });
    const older = seat.grant(grant);
    deliver({ sender: 'other', message: { tag: 'reply', id: 2, value: { replaced: null } } });
    expect(await older).toEqual({ granted: grant, replaced: null });
  });

  test('values of a leader that does not number them are refused', async () => {
    const asked = seat.ask('sample', { known: 'x' });
    reply({ atMs: 1, values: [1], quality: [0], agesMs: [1], online: [true] });
    await expect(asked).rejects.toMatchObject({ code: 'engine-unavailable' });
  });

  test('a change that the engine of before had fetched is asked of the one that follows, and waits no longer', async () => {
    const changing = seat.reload();
    expect(sent.splice(0)).toMatchObject([{ recipient: 'engine', message: { id: 1, method: 'reload' } }]);
    hear('engine');
    expect(sent).toMatchObject([{ recipient: 'engine', message: { id: 1, method: 'reload' } }]);
    reply(report);
    reply({ rules_loaded: 2, rules_failed: [] });
    expect(await changing).toEqual(report);
    expect(starts).toBe(1);
    hear('engine');
    expect(sent).toHaveLength(1);
  });

  test('its parameters are not requested again: the next engine has those of its own file, or of a newer change', async () => {
    const changing = seat.reload({ limit: { value: 1, unit: undefined } });
    expect(sent.splice(0)).toMatchObject([{ message: { argument: { parameters: { limit: { value: 1 } } } } }]);
    for (let turn = 0; turn < 2; turn++) {
      hear('engine');
      expect(sent.splice(0)).toEqual([
        {
          recipient: 'engine',
          message: { tag: 'call', id: 1, method: 'reload', argument: { ids: [], removed: [] } },
        },
      ]);
    }
    reply(report);
    expect(await changing).toEqual(report);
  });

  test('so does one that is asked here, when the engine that follows is here', async () => {
    const changing = seat.reload();
    seat.sit(engine);
    expect(announced).toEqual(['rules', 'engine']);
    sent = [];
    hear('engine');
    const [{ message } = { message: null }] = sent.splice(0);
    deliver({ sender: 'here', message });
    await settle();
    expect(sent).toMatchObject([{ recipient: 'here', message: { tag: 'reply', id: 1 } }]);
    reply(report);
    expect(await changing).toEqual(report);
    expect(starts).toBe(0);
  });

  test('[points §9] notified of a changed parameter, the leader reads its value itself; a change in progress does not wait for itself at a takeover', async () => {
    const changing = parameters.renew((inForce) => seat.takeStored(inForce));
    await settle();
    expect([announced, sent.splice(0)]).toMatchObject([
      ['parameters'],
      [{ message: { method: 'reload', argument: { ids: [], removed: [] } } }],
    ]);
    seat.sit(engine);
    hear('engine');
    const [{ message } = { message: null }] = sent.splice(0);
    deliver({ sender: mailbox.name, message });
    await settle();
    expect(sent).toMatchObject([{ recipient: mailbox.name, message: { tag: 'reply', id: 1 } }]);
    reply(report);
    expect((await changing).taken).toEqual(report);
  });

  test('an order is asked once: the engine of before may have run it', async () => {
    const running = seat.execute(1, 'correlation-1');
    sent = [];
    hear('engine');
    expect(sent).toEqual([]);
    reply({ rule_id: 1 });
    expect(await running).toEqual({ rule_id: 1 });
  });

  test('all processes hear of a change, and a standby applies it', async () => {
    const changing = seat.reload({ limit: { value: 1, unit: undefined } });
    expect(announced).toEqual(['parameters']);
    reply(report);
    await changing;
    hear('rules');
    hear('parameters');
    expect(changes).toEqual(['rules', 'parameters']);
    seat.sit(engine);
    hear('rules');
    await seat.reload();
    expect([changes, announced]).toEqual([
      ['rules', 'parameters'],
      ['parameters', 'engine', 'rules'],
    ]);
  });
});
