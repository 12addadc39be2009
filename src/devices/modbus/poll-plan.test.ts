/** Grouping of reads, and learning from refusals [points §3.1]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ModbusType, registersTaken } from '../../site/protocol/modbus-raw.ts';
import { type PollBlock, type PollItem, pollBlocks, pollGroups } from './poll-plan.ts';
import type { ModbusTable, RegisterPlace } from './register-place.ts';

const bounds = { maxRegisters: 125, bridges: false };
const item = (
  index: number,
  table: ModbusTable,
  register: number,
  type: ModbusType,
  more: Partial<RegisterPlace> = {},
): PollItem => ({
  index,
  place: {
    unit: 1,
    table,
    register,
    encoding: { type, length: registersTaken({ type }), wordOrder: 'big', byteOrder: 'big', bit: undefined },
    scaleFrom: undefined,
    writeFunction: 'auto',
    intervalMs: 1000,
    ...more,
  },
});

describe('[points §3.1] requests that read neighbours together', () => {
  test('adjacent registers are one request; a gap or another table is another', () => {
    const blocks = pollBlocks(
      [
        item(0, 'holding', 2, 'float32'),
        item(1, 'holding', 0, 'float32'),
        item(2, 'holding', 4, 'int16'),
        item(3, 'holding', 6, 'int16'),
        item(4, 'input', 5, 'int16'),
        item(5, 'coil', 5, 'bool'),
        item(6, 'coil', 6, 'bool'),
      ],
      bounds,
    );
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
    expect(pollBlocks(registers(125), bounds).map(({ count }) => count)).toEqual([125]);
    expect(pollBlocks(registers(126), bounds).map(({ count }) => count)).toEqual([125, 1]);
    expect(pollBlocks(bits(2000), bounds).map(({ count }) => count)).toEqual([2000]);
    expect(pollBlocks(bits(2001), bounds).map(({ count }) => count)).toEqual([2000, 1]);
  });

  test('a value is never cut in two: 124 registers and a float are two requests', () => {
    const items = [
      ...Array.from({ length: 124 }, (_, at) => item(at, 'input', at, 'int16')),
      item(124, 'input', 124, 'float32'),
    ];
    expect(pollBlocks(items, bounds).map(({ start, count }) => [start, count])).toEqual([
      [0, 124],
      [124, 2],
    ]);
  });

  test('for any points: each is read once, completely, within the limits, and nothing else is read', () => {
    const address = fc.record({
      table: fc.constantFrom('holding' as const, 'input' as const),
      register: fc.nat({ max: 300 }),
      type: fc.constantFrom('int16' as const, 'uint32' as const, 'float32' as const, 'float64' as const),
    });
    fc.assert(
      fc.property(fc.array(address, { maxLength: 200 }), (addresses) => {
        const items = addresses.map(({ table, register, type }, index) => item(index, table, register, type));
        const blocks = pollBlocks(items, bounds);
        expect(
          blocks.flatMap((block) => block.items.flatMap(({ index }) => index ?? [])).toSorted((a, b) => a - b),
        ).toEqual(items.map(({ index }) => index));
        for (const { table, start, count, items: inside } of blocks) {
          expect(count).toBeLessThanOrEqual(125);
          const wanted = new Set<number>();
          for (const { place: one } of inside) {
            expect(one.table).toBe(table);
            expect(one.register).toBeGreaterThanOrEqual(start);
            expect(one.register + one.encoding.length).toBeLessThanOrEqual(start + count);
            for (let at = 0; at < one.encoding.length; at++) wanted.add(one.register + at);
          }
          expect(wanted.size).toBe(count);
        }
      }),
    );
  });
});

describe('[points §3.1] groups, and learning from refusals', () => {
  const spans = (blocks: readonly PollBlock[]): string[] => blocks.map(({ start, count }) => `${start}+${count}`);
  const neighbours = (count: number): PollItem[] =>
    Array.from({ length: count }, (_, at) => item(at, 'holding', at, 'int16'));
  const only = (items: readonly PollItem[], given = bounds) => {
    const [group, ...more] = pollGroups(items, given);
    if (group === undefined || more.length > 0) throw new Error('expected one group');
    return group;
  };
  /** One cycle against a device that refuses requests for any of the `lacking` registers. */
  const cycle = (group: ReturnType<typeof only>, lacking: readonly number[]): string[] => {
    const asked: string[] = [];
    const due = group.begin();
    for (let block = due.shift(); block !== undefined; block = due.shift()) {
      const { start, count } = block;
      asked.push(...spans([block]));
      if (lacking.some((register) => register >= start && register < start + count))
        due.unshift(...group.refused(block));
      else group.read(block);
    }
    return asked;
  };

  test('each unit and each interval is a separate group', () => {
    const items = [
      item(0, 'holding', 0, 'int16'),
      item(1, 'holding', 1, 'int16', { unit: 2 }),
      item(2, 'holding', 2, 'int16', { intervalMs: 5000 }),
      item(3, 'holding', 1, 'int16'),
    ];
    const groups = pollGroups(items, bounds);
    expect(groups.map(({ unit, intervalMs }) => [unit, intervalMs])).toEqual([
      [1, 1000],
      [2, 1000],
      [1, 5000],
    ]);
    expect(groups.map((group) => spans(group.begin()))).toEqual([['0+2'], ['1+1'], ['2+1']]);
  });

  test('a refused block is halved until the missing registers are separate, and stays so', () => {
    const group = only(neighbours(8));
    expect(cycle(group, [5])).toEqual(['0+8', '0+4', '4+4', '4+2', '4+1', '5+1', '6+2']);
    expect(cycle(group, [5])).toEqual(['0+4', '4+1', '5+1', '6+2']);
    expect(cycle(group, [])).toEqual(['0+4', '4+1', '5+1', '6+2']);
  });

  test('where halving finds nothing that can be read, it was not about single registers: whole again, tried less and less often', () => {
    const group = only(neighbours(2));
    const everything = [0, 1];
    const halvings = Array.from({ length: 200 }, () => cycle(group, everything)).flatMap((asked, at) =>
      asked.length > 1 ? [at] : [],
    );
    expect(halvings.slice(0, 5)).toEqual([0, 2, 5, 10, 19]);
    expect(cycle(group, [])).toEqual(['0+2']);
    expect(halvings.length).toBeLessThan(10);
  });

  test('max_registers bounds a request; bridges reads across gaps within it', () => {
    const items = [item(0, 'holding', 0, 'int16'), item(1, 'holding', 5, 'int16'), item(2, 'holding', 10, 'int16')];
    expect(spans(only(items).begin())).toEqual(['0+1', '5+1', '10+1']);
    expect(spans(only(items, { maxRegisters: 125, bridges: true }).begin())).toEqual(['0+11']);
    expect(spans(only(items, { maxRegisters: 10, bridges: true }).begin())).toEqual(['0+6', '10+1']);
    expect(spans(only(neighbours(20), { maxRegisters: 16, bridges: false }).begin())).toEqual(['0+16', '16+4']);
  });

  test('scale registers are read once, before the values that they scale', () => {
    const items = [
      item(0, 'holding', 0, 'int16', { scaleFrom: 50 }),
      item(1, 'holding', 1, 'int16', { scaleFrom: 50 }),
      item(2, 'input', 1, 'int16', { scaleFrom: 50 }),
    ];
    const blocks = only(items).begin();
    expect(blocks.map(({ table, start, count }) => `${table} ${start}+${count}`)).toEqual([
      'holding 50+1',
      'input 50+1',
      'holding 0+2',
      'input 1+1',
    ]);
  });
});
