/** Provider-region discovery [platform §6.2]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../base/log.ts';
import { at, callScope, queryContext } from '../../testing/application-calls.ts';
import { faultyPort, type PortFault, settledPort } from '../../testing/faulty-port.ts';
import { hostileVariants } from '../../testing/hostile-values.ts';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { platformLimits } from '../limits.ts';
import { createDiscoverRegions } from './discover-regions.ts';
import { inMemoryCloudConnections, inMemoryProviderAdapter } from './in-memory.ts';
import { type CloudConnections, type ProviderAdapter, providerFailureCodes, type Region } from './ports.ts';

const row = {
  ...callScope,
  connectionId: 'connection-1',
  providerId: 'provider-a',
  enabled: true,
  credentialReference: 'secret://vault/cloud/provider-a',
};
const regions: readonly Region[] = [
  { regionId: 'south', displayName: 'South', availability: 'restricted', capabilities: [] },
  { regionId: 'north', displayName: 'North', availability: 'available', capabilities: ['compute', 'storage'] },
];
const violation = { ok: false, code: 'provider-adapter-contract-violation', retryable: false };
const invalid = { ok: false, code: 'invalid-input', retryable: false };
const notFound = { ok: false, code: 'cloud-connection-not-found', retryable: false };

function open(saved: readonly (typeof row)[] = [row]) {
  const clock = simulatedClock();
  const store = inMemoryCloudConnections();
  for (const one of saved) store.save(one);
  const connections = faultyPort<CloudConnections>(store);
  const adapter = faultyPort<ProviderAdapter>(
    inMemoryProviderAdapter('provider-a', ['compute', 'storage'], regions, () => clock.wallMs()),
  );
  const discover = createDiscoverRegions({
    connections: connections.port,
    adapters: [adapter.port],
    clock,
    log: silentLog,
  });
  const run = (overrides: object = {}, input: unknown = { connectionId: 'connection-1' }) =>
    discover(queryContext('cloud-connections:read', overrides), input);
  const observation = { providerId: 'provider-a', connectionId: 'connection-1', observedAt: at(clock), regions };
  /** The result for this answer of the adapter. */
  const answered = (value: unknown) => {
    adapter.break('discoverRegions', { kind: 'answer', value });
    return run();
  };
  return { clock, connections, adapter, discover, run, observation, answered };
}

describe('discover regions', () => {
  test('[platform §6.2] carries its descriptor: a query of low risk with its permission', () => {
    expect(open().discover.contract).toMatchObject({
      kind: 'query',
      permission: 'cloud-connections:read',
      risk: 'low',
      confirmation: 'never',
      audit: 'not-required',
      idempotency: 'not-required',
      expiry: 'not-required',
    });
  });

  test('[platform §6.2] answers the observation of the adapter, sorted and deeply frozen', async () => {
    const { run, observation } = open();
    const result = await run();
    expect(result).toEqual({ ok: true, ...observation, regions: [regions[1], regions[0]] });
    const parts = 'regions' in result ? [result, result.regions, ...result.regions] : [];
    expect(parts).toHaveLength(4);
    for (const part of parts) expect(Object.isFrozen(part)).toBe(true);
    if ('regions' in result)
      for (const region of result.regions) expect(Object.isFrozen(region.capabilities)).toBe(true);
  });

  test('[platform §6.2] the adapter receives scope, connection and the reference, and cannot change the data that is checked', async () => {
    const clock = simulatedClock();
    const store = inMemoryCloudConnections();
    store.save(row);
    const asked: unknown[] = [];
    const adapter: ProviderAdapter = {
      providerId: 'provider-a',
      capabilities: [],
      async discoverRegions(request) {
        asked.push({ ...request }, Object.isFrozen(request));
        return { ok: false, code: 'provider-unavailable', retryable: false };
      },
    };
    const discover = createDiscoverRegions({ connections: store, adapters: [adapter], clock, log: silentLog });
    await discover(queryContext('cloud-connections:read'), { connectionId: 'connection-1' });
    const { credentialReference } = row;
    expect(asked).toEqual([{ ...callScope, connectionId: 'connection-1', credentialReference }, true]);
  });

  test('[platform §6.2] permission is checked after decoding and before any read', async () => {
    const { run, connections } = open();
    const denied = { ok: false, code: 'permission-denied', retryable: false };
    for (const permissions of [[], ['cloud-connections'], ['cloud-connections:write'], ['*']]) {
      expect(await run({ permissions })).toEqual(denied);
    }
    expect(await run({ permissions: [] }, { connectionId: '' })).toEqual(invalid);
    expect(connections.calls).toEqual([]);
  });

  test('[platform §6.2] hostile contexts and inputs are invalid input, and nothing is read', async () => {
    const { discover, connections } = open();
    const context = queryContext('cloud-connections:read');
    const input = { connectionId: 'connection-1' };
    for (const { what, value } of hostileVariants(context)) expect(await discover(value, input), what).toEqual(invalid);
    for (const { what, value } of hostileVariants(input)) expect(await discover(context, value), what).toEqual(invalid);
    expect(connections.calls).toEqual([]);
  });

  test.each([
    '',
    'a/b',
    '../connection-1',
    'connection 1',
    'c'.repeat(129),
    'connection-1\n',
    7,
    null,
    ['connection-1'],
  ])('[platform §6.2] the connection id %j is invalid input', async (connectionId) => {
    expect(await open().run({}, { connectionId })).toEqual(invalid);
  });

  test('[platform §6.2] a connection of another scope is not found, exactly like an unknown one', async () => {
    const { run, adapter } = open();
    expect(await run({}, { connectionId: 'connection-2' })).toEqual(notFound);
    expect(await run({ tenantId: 'tenant-2' })).toEqual(notFound);
    expect(await run({ projectId: 'project-2' })).toEqual(notFound);
    expect(adapter.calls).toEqual([]);
  });

  test('[platform §6.2] ids like names of prototypes are not found', async () => {
    const { run } = open();
    for (const connectionId of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(await run({}, { connectionId })).toEqual(notFound);
    }
  });

  test.each([
    ['disabled', { enabled: false }],
    ['of a provider without adapter', { providerId: 'provider-b' }],
    ['with a raw credential', { credentialReference: 'AKIAIOSFODNN7EXAMPLE' }],
    ['good', {}],
  ])('[platform §6.2] a row of another scope, %s, that a store lets through is not found', async (_, members) => {
    const { run, connections, adapter } = open();
    for (const foreign of [{ tenantId: 'tenant-2' }, { projectId: 'project-2' }, { connectionId: 'connection-2' }]) {
      connections.break('find', { kind: 'answer', value: { ...row, ...members, ...foreign } });
      expect(await run()).toEqual(notFound);
    }
    expect(adapter.calls).toEqual([]);
  });

  test('[platform §6.2] a disabled connection is refused and its adapter not called', async () => {
    const { run, adapter } = open([{ ...row, enabled: false }]);
    expect(await run()).toEqual({ ok: false, code: 'cloud-connection-disabled', retryable: false });
    expect(adapter.calls).toEqual([]);
  });

  test('[platform §6.2] a disabled connection without adapter is disabled first', async () => {
    const { run } = open([{ ...row, enabled: false, providerId: 'provider-b' }]);
    expect(await run()).toMatchObject({ code: 'cloud-connection-disabled' });
  });

  test.each(['provider-b', '__proto__', 'constructor', 'Provider-A'])(
    '[platform §6.2] the provider %s has no adapter',
    async (providerId) => {
      expect(await open([{ ...row, providerId }]).run()).toEqual({
        ok: false,
        code: 'provider-adapter-not-registered',
        retryable: false,
      });
    },
  );

  test('[platform §6.2] two adapters of one provider are a construction error', () => {
    const { clock, adapter, connections } = open();
    const adapters = [adapter.port, adapter.port];
    const parts = { connections: connections.port, adapters, clock, log: silentLog };
    expect(() => createDiscoverRegions(parts)).toThrow(/provider-a/);
  });

  test.each([
    'AKIAIOSFODNN7EXAMPLE',
    'https://user:password@vault/x',
    'secret://vault/key?token=1',
    '',
    null,
    { key: 1 },
  ])(
    '[platform §6.2] a stored row with the raw credential %j is refused before the adapter sees it',
    async (credentialReference) => {
      const { run, connections, adapter } = open();
      connections.break('find', { kind: 'answer', value: { ...row, credentialReference } });
      expect(await run()).toEqual({ ok: false, code: 'cloud-connection-invalid', retryable: false });
      expect(adapter.calls).toEqual([]);
    },
  );

  test('[platform §6.2] a row with a credential beside its reference is refused', async () => {
    const { run, connections } = open();
    connections.break('find', { kind: 'answer', value: { ...row, accessKey: 'AKIAIOSFODNN7EXAMPLE' } });
    expect(await run()).toMatchObject({ code: 'cloud-connection-invalid' });
  });
});

describe('answers of an adapter', () => {
  test.each(providerFailureCodes.flatMap((code) => [true, false].map((retryable) => ({ code, retryable }))))(
    '[platform §6.2] the failure $code keeps its code and retryable $retryable',
    async ({ code, retryable }) => {
      const result = await open().answered({ ok: false, code, retryable });
      expect(result).toEqual({ ok: false, code, retryable });
      expect(Object.isFrozen(result)).toBe(true);
    },
  );

  test.each([
    ['a code of its own', { ok: false, code: 'provider-on-fire', retryable: true }],
    ['a code of ours', { ok: false, code: 'permission-denied', retryable: false }],
    ['a failure without retryable', { ok: false, code: 'provider-unavailable' }],
    ['a failure with a message', { ok: false, code: 'provider-unavailable', retryable: true, message: 'key=…' }],
    ['nothing', undefined],
    ['null', null],
    ['an empty object', {}],
    ['a list', []],
    ['a text', 'ok'],
    ['success without observation', { ok: true }],
  ])('[platform §6.2] %s is a contract violation', async (_, answer) => {
    expect(await open().answered(answer)).toEqual(violation);
  });

  const north = regions[1];
  test.each<[string, object]>([
    ['of another provider', { providerId: 'provider-b' }],
    ['of another connection', { connectionId: 'connection-2' }],
    ['without milliseconds', { observedAt: '2026-01-01T00:00:00Z' }],
    ['with an offset', { observedAt: '2026-01-01T00:00:00.000+00:00' }],
    ['of a day that is not', { observedAt: '2026-02-30T00:00:00.000Z' }],
    ['with a number for a time', { observedAt: 1_700_000_000_000 }],
    ['with a region twice', { regions: [north, north] }],
    ['with an availability of its own', { regions: [{ ...north, availability: 'maybe' }] }],
    ['with a capability not declared', { regions: [{ ...north, capabilities: ['compute', 'gpu'] }] }],
    ['with the capability constructor', { regions: [{ ...north, capabilities: ['constructor'] }] }],
    ['with an unknown member', { regions: [{ ...north, price: 1 }] }],
    ['without availability', { regions: [{ ...north, availability: undefined }] }],
    ['with a control character in a name', { regions: [{ ...north, displayName: 'No\u001brth' }] }],
    ['without a list', { regions: { 0: north, length: 1 } }],
    ['with a hole', { regions: Object.assign([north], { length: 2 }) }],
    ['without regions', { regions: null }],
    ['with an accessor', Object.defineProperty({}, 'regions', { get: () => [], enumerable: true })],
  ])('[platform §6.2] an observation %s is a contract violation', async (_, members) => {
    const { answered, observation } = open();
    const value = Object.defineProperties({ ...observation }, Object.getOwnPropertyDescriptors(members));
    expect(await answered({ ok: true, observation: value })).toEqual(violation);
  });

  test.each(['available', 'restricted', 'unavailable', 'unknown'])(
    '[platform §6.2] the availability %s is known',
    async (availability) => {
      const { answered, observation } = open();
      const value = { ...observation, regions: [{ ...north, availability }] };
      expect(await answered({ ok: true, observation: value })).toMatchObject({ regions: [{ availability }] });
    },
  );

  test('[platform §6.2] no region at all is an observation; a failure is never one', async () => {
    const { answered, observation } = open();
    expect(await answered({ ok: true, observation: { ...observation, regions: [] } })).toMatchObject({ regions: [] });
    for (const kind of ['throw', 'hang'] as const) {
      const { run, adapter, clock } = open();
      adapter.break('discoverRegions', { kind });
      const result = run();
      await settledPort();
      clock.advance(platformLimits.adapter_deadline_ms);
      expect(await result).toEqual({ ok: false, code: 'provider-unavailable', retryable: true });
    }
  });

  test('[platform §6.2] `regions_max` (1000) regions are taken, 1001 are a contract violation', async () => {
    const { answered, observation } = open();
    const many = Array.from({ length: 1001 }, (_, index) => ({ ...north, regionId: `region-${index}` }));
    expect(await answered({ ok: true, observation: { ...observation, regions: many } })).toEqual(violation);
    const most = await answered({ ok: true, observation: { ...observation, regions: many.slice(0, 1000) } });
    expect('regions' in most && most.regions.length).toBe(1000);
  });

  test('[platform §6.2] the order is by code units, independent of the order of the adapter', async () => {
    const id = fc.stringMatching(/^[A-Za-z0-9._:-]{1,8}$/);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(id, { maxLength: 50 }), async (ids) => {
        const { answered, observation } = open();
        const some = ids.map((regionId) => ({ ...north, regionId }));
        const result = await answered({ ok: true, observation: { ...observation, regions: some } });
        expect('regions' in result && result.regions.map((region) => region.regionId)).toEqual(ids.toSorted());
      }),
    );
  });

  test('[platform §6.2] a change of the answer after it was given does not reach the result', async () => {
    const { answered, observation } = open();
    const own = structuredClone(observation);
    const result = await answered({ ok: true, observation: own });
    Object.assign(own.regions[0] ?? {}, { availability: 'unavailable' });
    expect(result).toMatchObject({ regions: [{ regionId: 'north' }, { availability: 'restricted' }] });
  });
});

describe('deadlines of discovery', () => {
  test.each<[PortFault['kind'] & ('throw' | 'hang')]>([['throw'], ['hang']])(
    '[platform §6.2] a lookup that does %s is storage-unavailable, and the adapter is not called',
    async (kind) => {
      const { run, connections, adapter, clock } = open();
      connections.break('find', { kind });
      const result = run();
      await settledPort();
      clock.advance(platformLimits.store_deadline_ms);
      expect(await result).toEqual({ ok: false, code: 'storage-unavailable', retryable: true });
      expect(adapter.calls).toEqual([]);
    },
  );

  test('[platform §6.2] an adapter is cancelled at its deadline, and its late answer is dropped', async () => {
    const clock = simulatedClock();
    const store = inMemoryCloudConnections();
    store.save(row);
    const { promise, resolve } = Promise.withResolvers<{
      ok: false;
      code: 'provider-rate-limited';
      retryable: false;
    }>();
    const signals: AbortSignal[] = [];
    const adapter: ProviderAdapter = {
      providerId: 'provider-a',
      capabilities: [],
      discoverRegions(_, signal) {
        signals.push(signal);
        return promise;
      },
    };
    const discover = createDiscoverRegions({ connections: store, adapters: [adapter], clock, log: silentLog });
    const ended: unknown[] = [];
    void discover(queryContext('cloud-connections:read'), { connectionId: 'connection-1' }).then((end) =>
      ended.push(end),
    );
    await settledPort();
    clock.advance(platformLimits.adapter_deadline_ms - 1);
    await settledPort();
    expect(ended).toEqual([]);
    expect(signals.map((signal) => signal.aborted)).toEqual([false]);
    clock.advance(1);
    await settledPort();
    const unavailable = { ok: false, code: 'provider-unavailable', retryable: true };
    expect(ended).toEqual([unavailable]);
    expect(signals.map((signal) => signal.aborted)).toEqual([true]);
    resolve({ ok: false, code: 'provider-rate-limited', retryable: false });
    await settledPort();
    expect(ended).toEqual([unavailable]);
  });

  test('[platform §6.2] an answer in the last millisecond counts', async () => {
    const { run, adapter, clock, observation } = open();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    adapter.break('discoverRegions', { kind: 'wait', until: promise });
    const result = run();
    await settledPort();
    clock.advance(platformLimits.adapter_deadline_ms - 1);
    resolve(undefined);
    expect(await result).toMatchObject({ ok: true, connectionId: observation.connectionId });
  });
});
