/** Modbus TCP in site.yaml [points §3.1]. */
import Type, { type Static } from 'typebox';
import { decoder } from '../../base/decode.ts';
import { strict } from '../../base/schema.ts';
import { rawRangeOf, registersOf } from './modbus-raw.ts';
import { identifier, milliseconds, type Protocol } from './protocol.ts';

const modbusTcp = strict({
  id: identifier,
  driver: Type.Literal('modbus-tcp'),
  host: Type.String({ minLength: 1, maxLength: 255 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  unit_id: Type.Integer({ minimum: 0, maximum: 255 }),
  poll_interval_ms: milliseconds(10, 3_600_000),
  timeout_ms: milliseconds(10, 60_000),
  /** Of values that take more than one register: which of them stands first. */
  word_order: Type.Enum(['big', 'little']),
});

const modbusAddress = strict({
  table: Type.Enum(['holding', 'input', 'coil', 'discrete']),
  register: Type.Integer({ minimum: 0, maximum: 65_535 }),
  type: Type.Enum(['bool', 'int16', 'uint16', 'int32', 'uint32', 'float32', 'float64']),
});

export type ModbusChannel = Static<typeof modbusTcp>;
export type ModbusAddress = Static<typeof modbusAddress>;

export const modbus: Protocol<ModbusChannel, ModbusAddress> = {
  settings: decoder(modbusTcp),
  address: decoder(modbusAddress),
  defaultMaxAgeMs: ({ poll_interval_ms }) => 5 * poll_interval_ms,
  rawRange: ({ type }) => rawRangeOf[type],
  checkAddress({ table, register, type }, kind, fault) {
    const bits = table === 'coil' || table === 'discrete';
    if (bits !== (type === 'bool')) fault('address/type', 'bool goes with coil and discrete, and only with them');
    if (kind === 'action' && (table === 'input' || table === 'discrete'))
      fault('address/table', `${table} registers cannot be written`);
    if (register + registersOf[type] > 65_536) fault('address/register', 'the value ends behind the last register');
  },
};
