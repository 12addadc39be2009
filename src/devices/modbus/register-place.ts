/** The address of a value in a Modbus device, and how it is read and written. */
import { registersTaken } from '../../site/protocol/modbus-raw.ts';
import type { ModbusAddress, ModbusChannel } from '../../site/protocol/modbus-tcp.ts';
import type { Encoding } from './modbus-codec.ts';

export type ModbusTable = ModbusAddress['table'];

export interface RegisterPlace {
  readonly unit: number;
  readonly table: ModbusTable;
  /** The first of them, from 0. */
  readonly register: number;
  readonly encoding: Encoding;
  /** The register of the same unit and table with the power of ten of this value. */
  readonly scaleFrom: number | undefined;
  /** The fixed power of ten, without such a register; 0 if absent. */
  readonly exponent?: number;
  readonly writeFunction: 'auto' | 'single' | 'multiple';
  /** Never read: its value is what was written last. */
  readonly writeOnly?: boolean;
  readonly intervalMs: number;
  /** The raw value that means "not available". */
  readonly absent?: number;
}

export function placeOf(
  address: ModbusAddress,
  channel: ModbusChannel,
  pollIntervalMs: number | undefined,
): RegisterPlace {
  return {
    unit: address.unit_id ?? channel.unit_id,
    table: address.table,
    register: address.register,
    encoding: {
      type: address.type,
      length: registersTaken(address),
      wordOrder: address.word_order ?? channel.word_order,
      byteOrder: address.byte_order ?? 'big',
      bit: address.bit,
    },
    scaleFrom: address.scale_from,
    writeFunction: address.write_function ?? 'auto',
    writeOnly: address.write_only ?? false,
    intervalMs: pollIntervalMs ?? channel.poll_interval_ms,
  };
}

export function isBits(table: ModbusTable): boolean {
  return table === 'coil' || table === 'discrete';
}
