/**
 * Modbus RTU frames over TCP: unit, PDU, checksum, and no transaction number. Source: MODBUS over Serial Line 1.02, "RTU
 * transmission mode". An answer is recognised by its length alone, so after a timeout the connection must be dropped: a late
 * answer would be taken for the answer to the next request.
 */
import type { ModbusRequest } from './modbus-frame.ts';

const checksumBytes = 2;
const exceptionBit = 0x80;
const exceptionPduBytes = 2;
const polynomial = 0xa001;

/** CRC-16 of the serial line: reflected, start 0xffff, least significant byte first on the wire. */
export function checksum(bytes: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  }
  return crc;
}

export function rtuFrame(unit: number, pdu: Buffer): Buffer {
  const body = Buffer.concat([Buffer.of(unit), pdu]);
  const tail = Buffer.alloc(checksumBytes);
  tail.writeUInt16LE(checksum(body));
  return Buffer.concat([body, tail]);
}

/** The PDU that answers `request`, undefined while it is incomplete, null if the bytes are not such an answer. */
export function takeRtuAnswer(
  stream: Buffer,
  unit: number,
  request: ModbusRequest,
): { readonly pdu: Buffer; readonly rest: Buffer } | undefined | null {
  const [from, code] = stream;
  if (from !== undefined && from !== unit) return null;
  if (code === undefined) return undefined;
  const length = 1 + answerPduBytes(request, code) + checksumBytes;
  if (stream.length < length) return undefined;
  const body = stream.subarray(0, length - checksumBytes);
  if (stream.readUInt16LE(length - checksumBytes) !== checksum(body)) return null;
  return { pdu: Buffer.from(body.subarray(1)), rest: stream.subarray(length) };
}

function answerPduBytes(request: ModbusRequest, code: number): number {
  if ((code & exceptionBit) !== 0) return exceptionPduBytes;
  // Function, place, and what was written or how much.
  if (!('count' in request)) return 5;
  return 2 + (request.code <= 2 ? Math.ceil(request.count / 8) : request.count * 2);
}
