/** How parameters are changed while the service runs [points §9]. */
import { describe, expect, test } from 'vitest';
import type { CallContext } from '../api/capability.ts';
import { Fault } from '../base/fault.ts';
import { silentLog } from '../base/log.ts';
import type { Parameter } from '../site/catalogue.ts';
import { tankSite } from '../testing/tank-site.ts';
import { type ParameterParts, parameterCapabilities } from './parameters.ts';
import { parametersInForce } from './parameters-in-force.ts';

const inFile: Readonly<Record<string, Parameter>> = {
  limit: { value: 50, unit: 'kW', min: 0, max: 100 },
  free: { value: 1, unit: undefined },
};

function setup() {
  const stored = new Map<string, number>();
  const taken: unknown[] = [];
  const warnings: unknown[] = [];
  const engine = { takeStored: async (parameters: unknown) => void taken.push(parameters) };
  /** What the next changes wait for before they are stored; the last entry is used first. */
  const storing: (() => Promise<void>)[] = [];
  const store = {
    all: async () => new Map(stored),
    put: async (name: string, value: number) => {
      await storing.pop()?.();
      stored.set(name, value);
    },
    remove: async (name: string) => void stored.delete(name),
  };
  const parameters = parametersInForce(() => tankSite, inFile, store);
  const log = { ...silentLog, warn: (...warning: unknown[]) => void warnings.push(warning) };
  const parts = { engine, stored: store, parameters, log } as unknown as ParameterParts;
  const [update, reset] = parameterCapabilities(parts);
  const call = async (which: typeof update, name: string, body: unknown = {}) =>
    which?.handler({ params: { name }, body } as unknown as CallContext);
  return { stored, taken, warnings, engine, storing, call, update, reset, parameters };
}

describe('[points §9] parameters', () => {
  test('a change is stored, reaches the engine and shows beside the value of the file; a reset takes it back', async () => {
    const { stored, taken, call, update, reset, parameters } = setup();
    const changed = await call(update, 'limit', { value: 80, reason: 'winter' });
    expect(changed).toMatchObject({
      data: { data: { name: 'limit', value: 80, file_value: 50, changed: true } },
      auditDetails: { before: { value: 50 }, after: { value: 80 }, reason: 'winter' },
    });
    expect([stored.get('limit'), taken.length, parameters.current()['limit']?.value]).toEqual([80, 1, 80]);
    expect(await call(reset, 'limit')).toMatchObject({
      data: { data: { value: 50, changed: false } },
      auditDetails: { before: { value: 80 }, after: { value: 50 } },
    });
    expect(stored.size).toBe(0);
  });

  test('two concurrent changes do not undo each other, and each reports its own change', async () => {
    const { taken, storing, call, update, parameters } = setup();
    let release = (): void => undefined;
    storing.push(() => new Promise((resolve) => (release = resolve)));
    const changes = [
      call(update, 'limit', { value: 80 }),
      call(update, 'limit', { value: 90 }),
      call(update, 'free', { value: 2 }),
    ];
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    release();
    expect(await Promise.all(changes)).toMatchObject([
      { auditDetails: { before: { value: 50 }, after: { value: 80 } } },
      { auditDetails: { before: { value: 80 }, after: { value: 90 } } },
      { auditDetails: { before: { value: 1 }, after: { value: 2 } } },
    ]);
    expect(parameters.current()).toMatchObject({ limit: { value: 90 }, free: { value: 2 } });
    expect(taken.at(-1)).toMatchObject({ limit: { value: 90 }, free: { value: 2 } });
  });

  test('a change that the engine cannot apply now is answered like any other, because it is stored and comes into force later', async () => {
    const { stored, warnings, engine, call, update, parameters } = setup();
    engine.takeStored = () =>
      Promise.reject(new Fault('engine-unavailable', 'the rule engine is not running; try again'));
    expect(await call(update, 'limit', { value: 80 })).toMatchObject({ auditDetails: { after: { value: 80 } } });
    expect([stored.get('limit'), parameters.current()['limit']?.value]).toEqual([80, 80]);
    expect(warnings).toEqual([['a stored change waits for the rule engine', { code: 'engine-unavailable' }]]);
    engine.takeStored = () => Promise.reject(new TypeError('an error of ours'));
    await expect(call(update, 'limit', { value: 70 })).rejects.toThrow('an error of ours');
  });

  test('a value at the edge of the range is taken, one beyond it and an unknown name change nothing', async () => {
    const { stored, call, update } = setup();
    for (const value of [0, 100]) await call(update, 'limit', { value });
    expect(stored.get('limit')).toBe(100);
    for (const value of [-0.1, 100.1])
      await expect(call(update, 'limit', { value })).rejects.toMatchObject({ code: 'invalid-value' });
    await call(update, 'free', { value: -1e9 });
    await expect(call(update, 'toString', { value: 1 })).rejects.toMatchObject({ code: 'not-found' });
    expect([...stored.keys()]).toEqual(['limit', 'free']);
  });
});
