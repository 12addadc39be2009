/** Modbus requests and answers as text, for the log and for channel traces. */
import type { DriverFailure } from '../driver.ts';
import { exceptionName, type ModbusAnswer, type ModbusRequest } from './modbus-frame.ts';
import type { ModbusTable } from './register-place.ts';

const tableOf: Readonly<Record<ModbusRequest['code'], ModbusTable>> = {
  1: 'coil',
  2: 'discrete',
  3: 'holding',
  4: 'input',
  5: 'coil',
  6: 'holding',
  15: 'coil',
  16: 'holding',
};

/** Such as `read holding 100..103 of unit 1`. */
export function requestWords(unit: number, request: ModbusRequest): string {
  const place = `${tableOf[request.code]} ${spanWords(request.start, countOf(request))} of unit ${unit}`;
  if ('count' in request) return `read ${place}`;
  if ('on' in request) return `write ${place}: ${request.on ? 1 : 0}`;
  return `write ${place}: ${'bits' in request ? request.bits.map(Number).join(' ') : hexWords(request.registers)}`;
}

export function spanWords(start: number, count: number): string {
  return count === 1 ? String(start) : `${start}..${start + count - 1}`;
}

function countOf(request: ModbusRequest): number {
  if ('count' in request) return request.count;
  if ('bits' in request) return request.bits.length;
  return 'registers' in request ? request.registers.length / 2 : 1;
}

/** Registers as four hexadecimal digits each; packed bits as bytes. */
export function answerWords(answer: ModbusAnswer | null, request: ModbusRequest): string {
  if (answer === null) return 'no answer';
  if (answer.kind === 'exception') return exceptionName(answer.code);
  if (answer.kind === 'written') return 'written';
  if (answer.kind === 'other-value') return otherValue(answer.bytes);
  return request.code <= 2 ? answer.bytes.toString('hex') : hexWords(answer.bytes);
}

function otherValue(bytes: Buffer): string {
  return `the device confirmed another value (${hexWords(bytes)})`;
}

function hexWords(bytes: Buffer): string {
  return bytes.toString('hex').replaceAll(/(.{4})(?=.)/g, '$1 ');
}

/** Why a request failed. No answer means that the connection has ended. */
export function failureIn(answer: ModbusAnswer | null): DriverFailure {
  if (answer === null) return { code: 'no-answer', message: 'the connection ended before the device answered' };
  if (answer.kind === 'exception') return { code: 'refused', message: exceptionName(answer.code) };
  const message = answer.kind === 'other-value' ? otherValue(answer.bytes) : 'an answer of another kind';
  return { code: 'refused', message };
}
