/** Modbus in site.yaml [points §3.1]: over TCP, or RTU frames over TCP as simple gateways forward them. */
import Type, { type Static } from 'typebox';
import { decoder } from '../../base/decode.ts';
import { strict } from '../../base/schema.ts';
import { bitfieldRegistersMaximum, rawRangeIn, registersPerRequest, registersTaken } from './modbus-raw.ts';
import { identifier, milliseconds, type Protocol } from './protocol.ts';

const order = Type.Enum(['big', 'little']);
const unitId = Type.Integer({ minimum: 0, maximum: 255 });

/** The settings of a connection to a Modbus device or gateway, for all drivers. */
export const modbusConnection = {
  id: identifier,
  host: Type.String({ minLength: 1, maxLength: 255 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  poll_interval_ms: milliseconds(10, 3_600_000),
  timeout_ms: milliseconds(10, 60_000),
  /** Maximum number of registers per request, if the device accepts fewer than the protocol allows. */
  max_registers: Type.Optional(Type.Integer({ minimum: 1, maximum: registersPerRequest })),
  /** `rtu`: frames with a checksum and no header, for gateways that forward a serial line unchanged. */
  framing: Type.Optional(Type.Enum(['tcp', 'rtu'])),
};

const modbusTcp = strict({
  ...modbusConnection,
  driver: Type.Literal('modbus-tcp'),
  unit_id: unitId,
  /** Order of the registers of one value. */
  word_order: order,
});

const modbusAddress = strict({
  table: Type.Enum(['holding', 'input', 'coil', 'discrete']),
  register: Type.Integer({ minimum: 0, maximum: 65_535 }),
  type: Type.Enum([
    'bool',
    'int16',
    'uint16',
    'int32',
    'uint32',
    'int64',
    'uint64',
    'float32',
    'float64',
    'bitfield',
    'string',
  ]),
  /** Registers of a string or a bit field. */
  length: Type.Optional(Type.Integer({ minimum: 1, maximum: registersPerRequest })),
  /** One bit of a register, 0 the lowest. */
  bit: Type.Optional(Type.Integer({ minimum: 0, maximum: 15 })),
  /** If they differ from those of the channel. */
  unit_id: Type.Optional(unitId),
  word_order: Type.Optional(order),
  /** Byte order within a register; `big` in the protocol. */
  byte_order: Type.Optional(order),
  /** A register of the same table with a power of ten by which the raw value is multiplied. */
  scale_from: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535 })),
  /** `auto`: the single-write function for one register or coil, the multiple-write function for more. */
  write_function: Type.Optional(Type.Enum(['auto', 'single', 'multiple'])),
  /** The device refuses to read it: its value is what was written last. */
  write_only: Type.Optional(Type.Boolean()),
});

export type ModbusChannel = Static<typeof modbusTcp>;
export type ModbusAddress = Static<typeof modbusAddress>;

type Fault = (field: string, message: string) => void;

export const modbus: Protocol<ModbusChannel, ModbusAddress> = {
  settings: decoder(modbusTcp),
  address: decoder(modbusAddress),
  addressSettings: ['unit_id', 'word_order'],
  takesSetting: (name, { table }) => name !== 'word_order' || !isOfBits(table),
  pollIntervalMs: ({ poll_interval_ms }) => poll_interval_ms,
  traced: true,
  defaultMaxAgeMs: ({ poll_interval_ms }, own = poll_interval_ms) => 5 * own,
  rawRange: (address) => (address.scale_from === undefined ? rawRangeIn(address) : undefined),
  hasNoNumber: ({ type }) => type === 'string',
  places: (address, { host, port, unit_id }) =>
    Array.from(
      { length: registersTaken(address) },
      (_, at) => `${host}:${port}/${address.unit_id ?? unit_id}/${address.table}/${address.register + at}`,
    ),
  checkAddress(address, kind, fault) {
    const { table, register, type, bit, scale_from: scaleFrom } = address;
    const bits = isOfBits(table);
    if (bits && type !== 'bool') fault('address/type', 'a coil or discrete input is a bool');
    else if (!bits && type === 'bool' && bit === undefined)
      fault('address/type', 'bool goes with coil and discrete, and with a bit of a register');
    checkParts(address, bits, fault);
    if (kind === 'action') checkWritten(address, bits, fault);
    else if (address.write_only === true) fault('address/write_only', 'only an action point can be write_only');
    if (register + registersTaken(address) > 65_536)
      fault('address/register', 'the value extends beyond the last register');
    if (scaleFrom !== undefined && (bits || bit !== undefined || type === 'string' || type === 'bitfield'))
      fault('address/scale_from', 'only a number in registers has a scale');
  },
};

function isOfBits(table: unknown): boolean {
  return table === 'coil' || table === 'discrete';
}

function checkParts({ type, length, bit, word_order, byte_order }: ModbusAddress, bits: boolean, fault: Fault): void {
  const isLong = type === 'string' || type === 'bitfield';
  if (type === 'string' && length === undefined) fault('address/length', 'a string needs its length in registers');
  if (length !== undefined && !isLong) fault('address/length', `a value of type ${type} has a fixed length`);
  if (type === 'bitfield' && length !== undefined && length > bitfieldRegistersMaximum)
    fault('address/length', `a bitfield takes at most ${bitfieldRegistersMaximum} registers`);
  if (
    bit !== undefined &&
    (bits || !(type === 'bool' || type === 'uint16' || (type === 'bitfield' && (length ?? 1) === 1)))
  )
    fault('address/bit', 'bit goes with bool, uint16 or a bitfield of one register');
  if (bits && (word_order ?? byte_order) !== undefined)
    fault(word_order === undefined ? 'address/byte_order' : 'address/word_order', 'a bit has no order of bytes');
}

function checkWritten(address: ModbusAddress, bits: boolean, fault: Fault): void {
  const { table, type, bit, write_function: writeFunction, write_only: isWriteOnly, scale_from: scaleFrom } = address;
  if (table === 'input' || table === 'discrete') fault('address/table', `${table} registers cannot be written`);
  if (bit !== undefined)
    fault('address/bit', 'a bit of a register cannot be written: writing it would change the other bits');
  if (type === 'string') fault('address/type', 'a string cannot be written');
  if (writeFunction === 'single' && !bits && registersTaken(address) > 1)
    fault('address/write_function', 'single writes one register, and the value takes more');
  if (isWriteOnly === true && scaleFrom !== undefined)
    fault('address/scale_from', 'a write_only point has no scale register; use `scale`');
}
