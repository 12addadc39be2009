/** A Modbus gateway for tests, with units that can fail in every way: one fault each, changed while it runs. */
import { systemClock } from '../base/clock.ts';
import type { FramingName } from '../devices/modbus/framing.ts';
import { type DeviceRequest, type ModbusServer, serveModbus } from '../devices/modbus/modbus-server.ts';
import { createRegisterBank, type RegisterBank } from '../devices/modbus/register-bank.ts';

export type Manner =
  | { readonly kind: 'well' }
  /** Ends the connection after each answer. */
  | { readonly kind: 'closing' }
  /** Ends the connection instead of answering every second request. */
  | { readonly kind: 'hanging-up' }
  /** Ends the connection instead of answering a read of this register. */
  | { readonly kind: 'touchy'; readonly register: number }
  /** Never answers. */
  | { readonly kind: 'dead' }
  /** Answers everything with this exception code. */
  | { readonly kind: 'exception'; readonly code: number }
  | { readonly kind: 'slow'; readonly ms: number }
  | { readonly kind: 'doubled' }
  /** Byte by byte. */
  | { readonly kind: 'split' }
  /** Answers as the unit with this number (framing `tcp`). */
  | { readonly kind: 'renamed'; readonly unit: number }
  /** Confirms writes of one register with another value. */
  | { readonly kind: 'limiting'; readonly value: number }
  /** Half of the answer only. */
  | { readonly kind: 'half' }
  | { readonly kind: 'nonsense'; readonly bytes: Buffer };

export interface FaultDevice extends ModbusServer {
  bank(unit: number): RegisterBank;
  manner(unit: number, manner: Manner): void;
  /** Requests that reached a unit. */
  requests(unit: number): number;
  /** Function code and unit of each write, in order. */
  readonly writes: { readonly unit: number; readonly code: number; readonly start: number }[];
}

export async function startFaultDevice(framing: FramingName = 'tcp'): Promise<FaultDevice> {
  const banks = new Map<number, RegisterBank>();
  const manners = new Map<number, Manner>();
  const counts = new Map<number, number>();
  const writes: FaultDevice['writes'][number][] = [];
  const bank = (unit: number): RegisterBank => {
    const known = banks.get(unit) ?? createRegisterBank();
    banks.set(unit, known);
    return known;
  };
  const answer = (request: DeviceRequest, send: (bytes: Buffer) => void): void => {
    const { unit, pdu } = request;
    counts.set(unit, (counts.get(unit) ?? 0) + 1);
    const code = pdu.readUInt8(0);
    if (code > 4) writes.push({ unit, code, start: pdu.readUInt16BE(1) });
    const manner = manners.get(unit) ?? { kind: 'well' };
    if (manner.kind === 'hanging-up' && (counts.get(unit) ?? 0) % 2 === 0) return server.disconnect();
    if (manner.kind === 'touchy' && pdu.readUInt16BE(1) === manner.register) return server.disconnect();
    sendIn(manner, request, () => request.frame(bank(unit).answer(pdu)), send);
    if (manner.kind === 'closing') server.disconnect();
  };
  const server = await serveModbus({ host: '127.0.0.1', port: 0, framing, answer });
  return {
    ...server,
    bank,
    writes,
    manner: (unit, manner) => void manners.set(unit, manner),
    requests: (unit) => counts.get(unit) ?? 0,
  };
}

function sendIn(manner: Manner, request: DeviceRequest, whole: () => Buffer, send: (bytes: Buffer) => void): void {
  switch (manner.kind) {
    case 'well':
    case 'closing':
    case 'hanging-up':
    case 'touchy':
      return send(whole());
    case 'dead':
      return;
    case 'exception':
      return send(request.frame(Buffer.of(request.pdu.readUInt8(0) | 0x80, manner.code)));
    case 'slow':
      return void systemClock.after(manner.ms, () => send(whole()));
    case 'doubled':
      return send(Buffer.concat([whole(), whole()]));
    case 'split': {
      const bytes = whole();
      for (let at = 0; at < bytes.length; at++) systemClock.after(at, () => send(bytes.subarray(at, at + 1)));
      return;
    }
    case 'renamed': {
      const bytes = whole();
      bytes.writeUInt8(manner.unit, 6);
      return send(bytes);
    }
    case 'limiting': {
      const bytes = whole();
      if (request.pdu.readUInt8(0) === 6) bytes.writeUInt16BE(manner.value, bytes.length - 2);
      return send(bytes);
    }
    case 'half': {
      const bytes = whole();
      return send(bytes.subarray(0, bytes.length >> 1));
    }
    case 'nonsense':
      return send(manner.bytes);
  }
}
