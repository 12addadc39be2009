/** Finding the models of a SunSpec device [points §3.4]: the marker, the end, and devices that never end. */
import { describe, expect, test } from 'vitest';
import type { AskUnit } from '../modbus/modbus-client.ts';
import { discoverModels, modelsMaximum } from './discover.ts';

/** A device that has the registers in these ranges, and refuses all others. */
function device(pairs: ReadonlyMap<number, readonly [number, number]>): AskUnit {
  return async (_unit, { start }) => {
    const pair = pairs.get(start);
    if (pair === undefined) return { kind: 'exception', code: 2 };
    const bytes = Buffer.alloc(4);
    bytes.writeUInt16BE(pair[0], 0);
    bytes.writeUInt16BE(pair[1], 2);
    return { kind: 'data', bytes };
  };
}

const marker: readonly [number, number] = [0x5375, 0x6e53];
/** This many models without registers, then the end marker. */
const listing = (models: number) =>
  device(
    new Map<number, readonly [number, number]>([
      [40_000, marker],
      ...Array.from({ length: models }, (_, at) => [40_002 + at * 2, [1000 + at, 0]] as const),
      [40_002 + models * 2, [0xffff, 0]],
    ]),
  );

describe('[points §3.4] the models of a device', () => {
  test('as many as a device may list, and one more, which is refused and not cut off', async () => {
    expect(await discoverModels(listing(modelsMaximum), 1)).toHaveLength(modelsMaximum);
    expect(await discoverModels(listing(modelsMaximum + 1), 1)).toBe(
      `the device lists more than ${modelsMaximum} models`,
    );
  });

  test('a device without an end mark ends where it refuses; one that refuses its first model says so', async () => {
    const open = device(
      new Map<number, readonly [number, number]>([
        [50_000, marker],
        [50_002, [1, 65]],
      ]),
    );
    expect(await discoverModels(open, 1)).toEqual([{ model: 1, register: 50_004, length: 65 }]);
    expect(await discoverModels(device(new Map<number, readonly [number, number]>([[0, marker]])), 1)).toBe(
      'the device refuses its first model at register 2: exception 2 (illegal data address)',
    );
  });

  test('a connection that ends is not a device without models', async () => {
    expect(await discoverModels(async () => null, 1)).toBeNull();
  });
});
