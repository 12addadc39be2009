/** Which value of a parameter is in force, and how it is changed [points §9]. */
import { describe, expect, test } from 'vitest';
import type { CallContext } from '../api/capability.ts';
import { createTurn } from '../base/in-turn.ts';
import type { Parameter } from '../site/catalogue.ts';
import { overlaid, type ParameterParts, parameterCapabilities } from './parameters.ts';

const inFile: Readonly<Record<string, Parameter>> = {
  limit: { value: 50, unit: 'kW', min: 0, max: 100 },
  free: { value: 1, unit: undefined },
};

function setup() {
  const stored = new Map<string, number>();
  let current = overlaid(inFile, stored);
  const reloads: unknown[] = [];
  /** What the next reads wait for, the last one first. */
  const read: (() => Promise<void>)[] = [];
  const engine = { reload: async (parameters: unknown) => void reloads.push(parameters) };
  const parts = {
    engine,
    stored: {
      all: async () => stored,
      put: async (name: string, value: number) => void stored.set(name, value),
      remove: async (name: string) => void stored.delete(name),
    },
    parameters: () => current,
    readParameters: async () => {
      const parameters = overlaid(inFile, stored);
      await read.pop()?.();
      return { parameters, otherChanges: [] };
    },
    inTurn: createTurn(),
    useParameters: (parameters: typeof current) => void (current = parameters),
  } as unknown as ParameterParts;
  const [update, reset] = parameterCapabilities(parts);
  const call = async (which: typeof update, name: string, body: unknown = {}) =>
    which?.handler({ params: { name }, body } as unknown as CallContext);
  return { stored, reloads, read, call, update, reset, current: () => current };
}

describe('[points §9] parameters', () => {
  test('a change is stored, reaches the engine and shows beside the value of the file; a reset takes it back', async () => {
    const { stored, reloads, call, update, reset, current } = setup();
    const changed = await call(update, 'limit', { value: 80, reason: 'winter' });
    expect(changed).toMatchObject({
      data: { data: { name: 'limit', value: 80, file_value: 50, changed: true } },
      auditDetails: { before: { value: 50 }, after: { value: 80 }, reason: 'winter' },
    });
    expect([stored.get('limit'), reloads.length, current()['limit']?.value]).toEqual([80, 1, 80]);
    expect(await call(reset, 'limit')).toMatchObject({
      data: { data: { value: 50, changed: false } },
      auditDetails: { before: { value: 80 }, after: { value: 50 } },
    });
    expect(stored.size).toBe(0);
  });

  test('of two changes at once none undoes the other, whatever is read first', async () => {
    const { reloads, read, call, update, current } = setup();
    let release = (): void => undefined;
    read.push(() => new Promise((resolve) => (release = resolve)));
    const slow = call(update, 'limit', { value: 80 });
    const quick = call(update, 'free', { value: 2 });
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    release();
    await Promise.all([slow, quick]);
    expect(current()).toMatchObject({ limit: { value: 80 }, free: { value: 2 } });
    expect(reloads.at(-1)).toMatchObject({ limit: { value: 80 }, free: { value: 2 } });
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

  test('what is stored does not count without its parameter, outside a new range, or where it is the value of the file', () => {
    const stored = new Map([
      ['gone', 1],
      ['limit', 101],
      ['free', 1],
    ]);
    expect(overlaid(inFile, stored)).toEqual(inFile);
  });
});
