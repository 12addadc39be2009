/** The address of a Modbus point [points §3.1]: what goes together, and what is refused with the reason. */
import { describe, expect, test } from 'vitest';
import { type ModbusChannel, modbus } from './modbus-tcp.ts';

const channel: ModbusChannel = {
  id: 'bus',
  driver: 'modbus-tcp',
  host: '127.0.0.1',
  port: 502,
  unit_id: 1,
  poll_interval_ms: 1000,
  timeout_ms: 1000,
  word_order: 'big',
};

/** The faults of an address, as `field message`; the grammar's own findings as paths. */
function faults(address: Readonly<Record<string, unknown>>, kind: 'measurement' | 'action' = 'measurement'): string[] {
  const found: string[] = [];
  const decoded = modbus.address?.({ table: 'holding', register: 10, ...address });
  if (decoded === undefined) throw new Error('modbus points have addresses');
  if (!decoded.ok) return decoded.issues.map(({ path }) => path);
  modbus.checkAddress?.(decoded.value, kind, (field, message) => found.push(`${field} ${message}`), channel);
  return found;
}

describe('[points §3.1] the address of a Modbus point', () => {
  test.each([
    { type: 'int64' },
    { type: 'uint64', word_order: 'little', byte_order: 'little' },
    { type: 'bitfield' },
    { type: 'bitfield', length: 3 },
    { type: 'string', length: 16 },
    { type: 'bool', bit: 0 },
    { type: 'uint16', bit: 15 },
    { type: 'int16', scale_from: 40_000, unit_id: 255 },
  ])('takes %j', (address) => {
    expect(faults(address)).toEqual([]);
  });

  test.each([
    [{ type: 'string' }, 'address/length a string needs its length in registers'],
    [{ type: 'int16', length: 1 }, 'address/length a value of type int16 has a fixed length'],
    [{ type: 'bitfield', length: 4 }, 'address/length a bitfield takes at most 3 registers'],
    [{ type: 'bool' }, 'address/type bool goes with coil and discrete, and with a bit of a register'],
    [{ type: 'int32', bit: 3 }, 'address/bit bit goes with bool, uint16 or a bitfield of one register'],
    [{ type: 'bitfield', length: 2, bit: 3 }, 'address/bit bit goes with bool, uint16 or a bitfield of one register'],
    [{ type: 'bool', table: 'coil', bit: 3 }, 'address/bit bit goes with bool, uint16 or a bitfield of one register'],
    [{ type: 'bool', table: 'coil', byte_order: 'big' }, 'address/byte_order a bit has no order of bytes'],
    [{ type: 'string', length: 2, scale_from: 1 }, 'address/scale_from only a number in registers has a scale'],
    [{ type: 'uint16', write_only: true }, 'address/write_only only an action point can be write_only'],
    [{ type: 'string', length: 2, register: 65_535 }, 'address/register the value extends beyond the last register'],
  ])('refuses %j', (address, reason) => {
    expect(faults(address)).toEqual([reason]);
  });

  test.each([
    [
      { type: 'uint16', bit: 1 },
      'address/bit a bit of a register cannot be written: writing it would change the other bits',
    ],
    [{ type: 'string', length: 2 }, 'address/type a string cannot be written'],
    [
      { type: 'int32', write_function: 'single' },
      'address/write_function single writes one register, and the value takes more',
    ],
    [{ type: 'uint16', table: 'input' }, 'address/table input registers cannot be written'],
    [
      { type: 'uint16', write_only: true, scale_from: 1 },
      'address/scale_from a write_only point has no scale register; use `scale`',
    ],
  ])('an action point refuses %j', (address, reason) => {
    expect(faults(address, 'action')).toEqual([reason]);
  });

  test.each([
    ['bit', -1, 15, 16],
    ['length', 0, 125, 126],
    ['unit_id', -1, 255, 256],
    ['scale_from', -1, 65_535, 65_536],
  ])('%s: its edges', (member, below, last, above) => {
    const type = member === 'length' ? 'string' : 'uint16';
    expect(faults({ type, register: 0, [member]: below })).toEqual([`/${member}`]);
    expect(faults({ type, register: 0, [member]: last })).toEqual([]);
    expect(faults({ type, register: 0, [member]: above })).toEqual([`/${member}`]);
  });
});
