/** The registers of one unit of a simulated device, and its answer to a request: pure but for the registers themselves. */
import { bitsPerRequest, registersPerRequest } from '../../site/protocol/modbus-raw.ts';
import type { ModbusTable } from './register-place.ts';

const illegalFunction = 1;
const illegalAddress = 2;
const illegalValue = 3;
const exceptionBit = 0x80;
const readTables: Readonly<Record<number, ModbusTable>> = { 1: 'coil', 2: 'discrete', 3: 'holding', 4: 'input' };

export interface RegisterBank {
  /** A register (16 bits) or a bit; one that was never set does not exist. */
  set(table: ModbusTable, register: number, value: number): void;
  get(table: ModbusTable, register: number): number | undefined;
  /** The PDU that answers `pdu`. */
  answer(pdu: Buffer): Buffer;
}

export function createRegisterBank(
  onWrite: (table: ModbusTable, register: number, value: number) => void = () => undefined,
): RegisterBank {
  const values = new Map<string, number>();
  const keyOf = (table: ModbusTable, register: number): string => `${table} ${register}`;
  const get = (table: ModbusTable, register: number): number | undefined => values.get(keyOf(table, register));

  const read = (code: number, table: ModbusTable, start: number, count: number): Buffer => {
    const bits = code <= 2;
    if (count < 1 || count > (bits ? bitsPerRequest : registersPerRequest)) return refusal(code, illegalValue);
    const bytes = Buffer.alloc(bits ? Math.ceil(count / 8) : count * 2);
    for (let at = 0; at < count; at++) {
      const value = get(table, start + at);
      if (value === undefined) return refusal(code, illegalAddress);
      if (!bits) bytes.writeUInt16BE(value, at * 2);
      else if (value !== 0) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7));
    }
    return Buffer.concat([Buffer.of(code, bytes.length), bytes]);
  };
  const write = (pdu: Buffer, table: ModbusTable, start: number, given: readonly number[]): Buffer => {
    const code = pdu.readUInt8(0);
    if (given.some((_, at) => get(table, start + at) === undefined)) return refusal(code, illegalAddress);
    given.forEach((value, at) => {
      values.set(keyOf(table, start + at), value);
      onWrite(table, start + at, value);
    });
    return Buffer.from(pdu.subarray(0, 5));
  };
  return {
    set: (table, register, value) => void values.set(keyOf(table, register), value),
    get,
    answer(pdu) {
      const code = pdu.readUInt8(0);
      if (pdu.length < 5) return refusal(code, illegalValue);
      const [start, second] = [pdu.readUInt16BE(1), pdu.readUInt16BE(3)];
      const table = readTables[code];
      if (table !== undefined) return read(code, table, start, second);
      if (code === 5) return write(pdu, 'coil', start, [second === 0 ? 0 : 1]);
      if (code === 6) return write(pdu, 'holding', start, [second]);
      if ((code === 15 || code === 16) && pdu.length !== 6 + pdu.readUInt8(5)) return refusal(code, illegalValue);
      if (code === 15)
        return write(
          pdu,
          'coil',
          start,
          Array.from({ length: second }, (_, at) => ((pdu[6 + (at >> 3)] ?? 0) >> (at & 7)) & 1),
        );
      if (code === 16 && pdu.readUInt8(5) === second * 2)
        return write(
          pdu,
          'holding',
          start,
          Array.from({ length: second }, (_, at) => pdu.readUInt16BE(6 + at * 2)),
        );
      return refusal(code, code === 16 ? illegalValue : illegalFunction);
    },
  };
}

function refusal(code: number, exception: number): Buffer {
  return Buffer.of(code | exceptionBit, exception);
}
