/** Modbus registers: types, word order, and requests that read neighbours together [points §3.1]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { registersOf } from '../../site/protocol/modbus-raw.ts';
import type { ModbusAddress } from '../../site/protocol/modbus-tcp.ts';
import { decodeRegisters, encodeRegisters, pollBlocks } from './modbus-codec.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

describe('[points §3.1] register types and word order', () => {
  test.each([
    ['int16', 'big', 'ff38', -200],
    ['uint16', 'big', 'ff38', 65_336],
    ['int32', 'big', 'fffe 7960', -100_000],
    ['int32', 'little', '7960 fffe', -100_000],
    ['uint32', 'big', '0001 86a0', 100_000],
    ['uint32', 'little', '86a0 0001', 100_000],
    ['float32', 'big', '422a 0000', 42.5],
    ['float32', 'little', '0000 422a', 42.5],
    ['float64', 'big', '4045 4000 0000 0000', 42.5],
    ['float64', 'little', '0000 0000 4000 4045', 42.5],
  ] as const)('%s %s: %s is %d', (type, order, hex, value) => {
    expect(decodeRegisters(bytes(hex), type, order)).toBe(value);
    expect(encodeRegisters(value, type, order)?.toString('hex')).toBe(hex.replaceAll(' ', ''));
  });

  test.each([
    ['int16', 32_767, 32_768],
    ['int16', -32_768, -32_769],
    ['uint16', 65_535, 65_536],
    ['uint16', 0, -1],
    ['int32', 2_147_483_647, 2_147_483_648],
    ['uint32', 4_294_967_295, 4_294_967_296],
    ['float32', 3.4e38, 3.5e38],
  ] as const)('%s takes %d and not %d', (type, inside, outside) => {
    expect(encodeRegisters(inside, type, 'big')).not.toBeNull();
    expect(encodeRegisters(outside, type, 'big')).toBeNull();
  });

  test('a value that is not finite fits no register', () => {
    for (const type of ['int16', 'uint16', 'int32', 'uint32', 'float32', 'float64'] as const) {
      for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
        expect(encodeRegisters(value, type, 'big')).toBeNull();
    }
  });

  test('what is written is read back: the nearest integer, or the float itself', () => {
    const order = fc.constantFrom('big' as const, 'little' as const);
    const read = (value: number, type: 'int16' | 'int32' | 'float32' | 'float64', words: 'big' | 'little') => {
      const encoded = encodeRegisters(value, type, words);
      return encoded === null ? null : decodeRegisters(encoded, type, words);
    };
    const double = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(fc.property(double, order, (value, words) => Object.is(read(value, 'float64', words), value)));
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), order, (value, words) =>
        Object.is(read(value, 'float32', words), value),
      ),
    );
    fc.assert(
      fc.property(
        fc.double({ min: -32_768, max: 32_767, noNaN: true }),
        order,
        (value, words) => Math.abs((read(value, 'int16', words) ?? Number.NaN) - value) <= 0.5,
      ),
    );
    fc.assert(fc.property(fc.integer(), order, (value, words) => read(value, 'int32', words) === value));
  });
});

describe('[points §3.1] requests that read neighbours together', () => {
  const item = (index: number, table: ModbusAddress['table'], register: number, type: ModbusAddress['type']) => ({
    index,
    address: { table, register, type },
  });

  test('adjacent registers are one request; a gap or another table is another', () => {
    const blocks = pollBlocks([
      item(0, 'holding', 2, 'float32'),
      item(1, 'holding', 0, 'float32'),
      item(2, 'holding', 4, 'int16'),
      item(3, 'holding', 6, 'int16'),
      item(4, 'input', 5, 'int16'),
      item(5, 'coil', 5, 'bool'),
      item(6, 'coil', 6, 'bool'),
    ]);
    expect(
      blocks.map(({ table, start, count, items }) => [table, start, count, items.map(({ index }) => index)]),
    ).toEqual([
      ['coil', 5, 2, [5, 6]],
      ['holding', 0, 5, [1, 0, 2]],
      ['holding', 6, 1, [3]],
      ['input', 5, 1, [4]],
    ]);
  });

  test('125 registers are one request, 126 are two; 2000 bits are one, 2001 are two', () => {
    const registers = (count: number) => Array.from({ length: count }, (_, at) => item(at, 'holding', at, 'int16'));
    const bits = (count: number) => Array.from({ length: count }, (_, at) => item(at, 'coil', at, 'bool'));
    expect(pollBlocks(registers(125)).map(({ count }) => count)).toEqual([125]);
    expect(pollBlocks(registers(126)).map(({ count }) => count)).toEqual([125, 1]);
    expect(pollBlocks(bits(2000)).map(({ count }) => count)).toEqual([2000]);
    expect(pollBlocks(bits(2001)).map(({ count }) => count)).toEqual([2000, 1]);
  });

  test('a value is never cut in two: 124 registers and a float are two requests', () => {
    const items = [
      ...Array.from({ length: 124 }, (_, at) => item(at, 'input', at, 'int16')),
      item(124, 'input', 124, 'float32'),
    ];
    expect(pollBlocks(items).map(({ start, count }) => [start, count])).toEqual([
      [0, 124],
      [124, 2],
    ]);
  });

  test('whatever the points are: each is read once, whole, within the bounds, and nothing is read for nobody', () => {
    const address = fc.record({
      table: fc.constantFrom('holding' as const, 'input' as const),
      register: fc.nat({ max: 300 }),
      type: fc.constantFrom('int16' as const, 'uint32' as const, 'float32' as const, 'float64' as const),
    });
    fc.assert(
      fc.property(fc.array(address, { maxLength: 200 }), (addresses) => {
        const items = addresses.map((given, index) => ({ index, address: given }));
        const blocks = pollBlocks(items);
        expect(blocks.flatMap((block) => block.items.map(({ index }) => index)).toSorted((a, b) => a - b)).toEqual(
          items.map(({ index }) => index),
        );
        for (const { table, start, count, items: inside } of blocks) {
          expect(count).toBeLessThanOrEqual(125);
          const wanted = new Set<number>();
          for (const { address: one } of inside) {
            expect(one.table).toBe(table);
            expect(one.register).toBeGreaterThanOrEqual(start);
            expect(one.register + registersOf[one.type]).toBeLessThanOrEqual(start + count);
            for (let at = 0; at < registersOf[one.type]; at++) wanted.add(one.register + at);
          }
          expect(wanted.size).toBe(count);
        }
      }),
    );
  });
});
