/** Modbus registers to values and back [points §3.1]: types, the order of registers and bytes, bits, text, scales. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ModbusType, registersTaken } from '../../site/protocol/modbus-raw.ts';
import { decodeRegisters, decodeText, type Encoding, encodeRegisters, exponentOf, scaledBy } from './modbus-codec.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

type Order = Encoding['wordOrder'];

const encoded = (type: ModbusType, wordOrder: Order = 'big', more: Partial<Encoding> = {}): Encoding => ({
  type,
  length: registersTaken({ type, ...more }),
  wordOrder,
  byteOrder: 'big',
  bit: undefined,
  ...more,
});

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
    ['int64', 'big', 'ffff ffff fffe 7960', -100_000],
    ['int64', 'little', '7960 fffe ffff ffff', -100_000],
    ['uint64', 'big', '0000 0001 0000 0000', 4_294_967_296],
    ['uint64', 'little', '0000 0000 0001 0000', 4_294_967_296],
  ] as const)('%s %s: %s is %d', (type, order, hex, value) => {
    expect(decodeRegisters(bytes(hex), encoded(type, order))).toBe(value);
    expect(encodeRegisters(value, encoded(type, order))?.toString('hex')).toBe(hex.replaceAll(' ', ''));
  });

  test.each([
    ['int16', 32_767, 32_768],
    ['int16', -32_768, -32_769],
    ['uint16', 65_535, 65_536],
    ['uint16', 0, -1],
    ['int32', 2_147_483_647, 2_147_483_648],
    ['uint32', 4_294_967_295, 4_294_967_296],
    ['int64', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER + 1],
    ['uint64', Number.MAX_SAFE_INTEGER, -1],
    ['bitfield', 65_535, 65_536],
    ['float32', 3.4e38, 3.5e38],
  ] as const)('%s takes %d and not %d', (type, inside, outside) => {
    expect(encodeRegisters(inside, encoded(type))).not.toBeNull();
    expect(encodeRegisters(outside, encoded(type))).toBeNull();
  });

  test('a value that is not finite fits no register', () => {
    for (const type of ['int16', 'uint16', 'int32', 'uint32', 'float32', 'float64'] as const) {
      for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
        expect(encodeRegisters(value, encoded(type))).toBeNull();
    }
  });

  test('a written value is read back: the nearest integer, or the float itself', () => {
    const order = fc.constantFrom('big' as const, 'little' as const);
    const read = (value: number, type: 'int16' | 'int32' | 'float32' | 'float64', words: 'big' | 'little') => {
      const registers = encodeRegisters(value, encoded(type, words));
      return registers === null ? null : decodeRegisters(registers, encoded(type, words));
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

describe('[points §3.1] bytes, bits, text and scales', () => {
  test.each([
    ['uint16', 'big', '38ff', 65_336],
    ['int32', 'big', 'feff 6079', -100_000],
    ['int32', 'little', '6079 feff', -100_000],
    ['float32', 'little', '0000 2a42', 42.5],
  ] as const)('%s, words %s, bytes within a word swapped: %s is %d', (type, order, hex, value) => {
    const swapped = encoded(type, order, { byteOrder: 'little' });
    expect(decodeRegisters(bytes(hex), swapped)).toBe(value);
    expect(encodeRegisters(value, swapped)?.toString('hex')).toBe(hex.replaceAll(' ', ''));
  });

  test('a bit of a register, the lowest is 0 and the highest 15', () => {
    const bits = Array.from({ length: 16 }, (_, bit) =>
      decodeRegisters(bytes('8005'), encoded('uint16', 'big', { bit })),
    );
    expect(bits).toEqual([1, 0, 1, ...Array(12).fill(0), 1]);
  });

  test('a bit field of three registers is a whole number of 48 bits', () => {
    expect(decodeRegisters(bytes('ffff ffff ffff'), encoded('bitfield', 'big', { length: 3 }))).toBe(2 ** 48 - 1);
    expect(encodeRegisters(2 ** 48 - 1, encoded('bitfield', 'big', { length: 3 }))?.toString('hex')).toBe(
      'f'.repeat(12),
    );
    expect(encodeRegisters(2 ** 48, encoded('bitfield', 'big', { length: 3 }))).toBeNull();
  });

  test('text ends at the first NUL and has no blanks around it; it is not a number', () => {
    const text = encoded('string', 'big', { length: 4 });
    expect(decodeText(Buffer.from('SMA \0\0ab'), text)).toBe('SMA');
    expect(decodeText(Buffer.from('  PAC2200'), text)).toBe('PAC2200');
    expect(decodeText(Buffer.from('MS A'), { ...text, byteOrder: 'little' })).toBe('SMA');
    expect(decodeRegisters(Buffer.from('12345678'), text)).toBeNaN();
    expect(encodeRegisters(1, text)).toBeNull();
  });

  test('a power of ten is applied with one rounding, and an invalid one is null', () => {
    expect([scaledBy(123, -1), scaledBy(-7, 3), scaledBy(5, 0), scaledBy(1, -2)]).toEqual([12.3, -7000, 5, 0.01]);
    expect(
      ['0000', 'fffe', '000a', 'fff6', '000b', 'fff5', '8000', 'ffff'].map((hex) => exponentOf(bytes(hex))),
    ).toEqual([0, -2, 10, -10, null, null, null, -1]);
    fc.assert(
      fc.property(
        fc.integer({ min: -32_768, max: 32_767 }),
        fc.integer({ min: -10, max: 10 }),
        (raw, exponent) => Math.round(scaledBy(scaledBy(raw, exponent), -exponent)) === raw,
      ),
    );
  });
});
