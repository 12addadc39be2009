/** The request that writes a value, and the resulting registers; or the reason why it is not possible. Pure. */
import { decodeRegisters, encodeRegisters, scaledBy } from './modbus-codec.ts';
import type { ModbusRequest } from './modbus-frame.ts';
import { isBits, type RegisterPlace } from './register-place.ts';

export interface WriteRequest {
  readonly request: ModbusRequest;
  /** As it would be read back, before the scale register counts. */
  readonly held: number;
}

/** `exponent`: of its scale register; undefined before it was read. */
export function writeRequest(place: RegisterPlace, value: number, exponent: number | undefined): WriteRequest | string {
  const { register: start, encoding, writeFunction } = place;
  if (isBits(place.table)) {
    const on = Math.round(value) !== 0;
    const request: ModbusRequest =
      writeFunction === 'multiple' ? { code: 15, start, bits: [on] } : { code: 5, start, on };
    return { request, held: on ? 1 : 0 };
  }
  if (exponent === undefined) return `the scale register ${place.scaleFrom} was not read yet`;
  const registers = encodeRegisters(scaledBy(value, -exponent), encoding);
  if (registers === null) return 'the value does not fit its register';
  const single = writeFunction === 'auto' ? registers.length === 2 : writeFunction === 'single';
  return { request: { code: single ? 6 : 16, start, registers }, held: decodeRegisters(registers, encoding) };
}
