/**
 * Modbus TCP on the wire: the eight function codes that Setpoint uses, as bytes. Pure: a request becomes a frame, a
 * stream becomes frames, and a frame is matched to its request. Source: MODBUS Application Protocol 1.1b3
 * and Messaging on TCP/IP 1.0b.
 */

export type ReadCode = 1 | 2 | 3 | 4;

/** Registers and bits are numbered from 0, as on the wire. */
export type ModbusRequest =
  /** Coils (1), discrete inputs (2), holding registers (3), input registers (4). */
  | { readonly code: ReadCode; readonly start: number; readonly count: number }
  | { readonly code: 5; readonly start: number; readonly on: boolean }
  /** `registers` holds two bytes a register, most significant first. */
  | { readonly code: 6; readonly start: number; readonly registers: Buffer }
  | { readonly code: 15; readonly start: number; readonly bits: readonly boolean[] }
  | { readonly code: 16; readonly start: number; readonly registers: Buffer };

export type ModbusAnswer =
  /** Two bytes a register, or bits packed from the lowest of each byte. */
  | { readonly kind: 'data'; readonly bytes: Buffer }
  | { readonly kind: 'written' }
  /** The device confirmed a write with a value other than the one sent; devices that limit values do. */
  | { readonly kind: 'other-value'; readonly bytes: Buffer }
  /** An exception: any code from 0 to 255, including unknown ones. */
  | { readonly kind: 'exception'; readonly code: number };

export interface ModbusFrame {
  readonly transaction: number;
  readonly unit: number;
  /** Function code and the rest. */
  readonly pdu: Buffer;
}

/** Transaction, protocol and length, two bytes each, then the unit. */
const headerBytes = 7;
const protocolId = 0;
/** Of unit and PDU together, in bytes. */
const lengthMinimum = 2;
const lengthMaximum = 254;
const exceptionBit = 0x80;
const coilOn = 0xff00;

export function frameOf({ transaction, unit, pdu }: ModbusFrame): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(transaction, 0);
  header.writeUInt16BE(protocolId, 2);
  header.writeUInt16BE(pdu.length + 1, 4);
  header.writeUInt8(unit, 6);
  return Buffer.concat([header, pdu]);
}

/** Function code and the rest. */
export function pduOf(request: ModbusRequest): Buffer {
  switch (request.code) {
    case 1:
    case 2:
    case 3:
    case 4:
      return head(request.code, request.start, request.count);
    case 5:
      return head(5, request.start, request.on ? coilOn : 0);
    case 6:
      return head(6, request.start, request.registers.readUInt16BE());
    case 15: {
      const bytes = packed(request.bits);
      return Buffer.concat([head(15, request.start, request.bits.length), Buffer.of(bytes.length), bytes]);
    }
    case 16: {
      const { registers, start } = request;
      return Buffer.concat([head(16, start, registers.length / 2), Buffer.of(registers.length), registers]);
    }
  }
}

function head(code: number, first: number, second: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt8(code, 0);
  bytes.writeUInt16BE(first, 1);
  bytes.writeUInt16BE(second, 3);
  return bytes;
}

function packed(bits: readonly boolean[]): Buffer {
  const bytes = Buffer.alloc(Math.ceil(bits.length / 8));
  for (const [at, on] of bits.entries()) if (on) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7));
  return bytes;
}

/** Bit `at` of packed bits; undefined after their end. */
export function bitAt(bytes: Buffer, at: number): boolean | undefined {
  const byte = bytes[at >> 3];
  return byte === undefined ? undefined : ((byte >> (at & 7)) & 1) === 1;
}

/** Splits a stream into complete frames; `rest` is the start of the next one. Returns null if the bytes are not Modbus TCP. */
export function takeFrames(stream: Buffer): { readonly frames: ModbusFrame[]; readonly rest: Buffer } | null {
  const frames: ModbusFrame[] = [];
  let rest = stream;
  while (rest.length >= headerBytes) {
    const length = rest.readUInt16BE(4);
    if (rest.readUInt16BE(2) !== protocolId || length < lengthMinimum || length > lengthMaximum) return null;
    const end = headerBytes - 1 + length;
    if (rest.length < end) break;
    const pdu = Buffer.from(rest.subarray(headerBytes, end));
    frames.push({ transaction: rest.readUInt16BE(0), unit: rest.readUInt8(6), pdu });
    rest = rest.subarray(end);
  }
  return { frames, rest: Buffer.from(rest) };
}

/** The device's answer to `request`; null if the bytes are not an answer to it. */
export function answerTo(request: ModbusRequest, pdu: Buffer): ModbusAnswer | null {
  const code = pdu[0];
  if (code === (request.code | exceptionBit)) {
    const exception = pdu[1];
    return pdu.length !== 2 || exception === undefined ? null : { kind: 'exception', code: exception };
  }
  if (code !== request.code) return null;
  switch (request.code) {
    case 1:
    case 2:
      return dataOf(pdu, Math.ceil(request.count / 8));
    case 3:
    case 4:
      return dataOf(pdu, request.count * 2);
    case 5:
    case 6:
      return confirmed(pdu, pduOf(request));
    case 15:
    case 16:
      return pdu.equals(pduOf(request).subarray(0, 5)) ? { kind: 'written' } : null;
  }
}

/** The confirmation of one register or coil repeats the request. */
function confirmed(pdu: Buffer, sent: Buffer): ModbusAnswer | null {
  if (pdu.equals(sent)) return { kind: 'written' };
  const isSamePlace = pdu.length === sent.length && pdu.subarray(0, 3).equals(sent.subarray(0, 3));
  return isSamePlace ? { kind: 'other-value', bytes: pdu.subarray(3) } : null;
}

/** A byte count, then as many bytes as requested: fewer or more are invalid. */
function dataOf(pdu: Buffer, bytes: number): ModbusAnswer | null {
  if (pdu[1] !== bytes || pdu.length !== bytes + 2) return null;
  return { kind: 'data', bytes: pdu.subarray(2) };
}

const exceptionNames: Readonly<Record<number, string>> = {
  1: 'illegal function',
  2: 'illegal data address',
  3: 'illegal data value',
  4: 'server device failure',
  5: 'acknowledge',
  6: 'server device busy',
  8: 'memory parity error',
  10: 'gateway path unavailable',
  11: 'gateway target device failed to respond',
};

/** For the log: the protocol's name of an exception code, if it has one. */
export function exceptionName(code: number): string {
  const name = exceptionNames[code];
  return name === undefined ? `exception ${code}` : `exception ${code} (${name})`;
}

/** A gateway reports that the unit behind it does not answer: not an answer of the unit. */
const unitExceptions: ReadonlySet<number> = new Set([10, 11]);
const deviceFailure = 4;

/** The scope of an exception to a read: the whole unit, this moment, or possibly one of many registers. */
export function blameOf(code: number): 'unit' | 'moment' | 'registers' {
  if (unitExceptions.has(code)) return 'unit';
  return code === deviceFailure ? 'moment' : 'registers';
}
