/** Modbus RTU over TCP [points §3.1]: known bytes, cut and duplicated streams, and random bytes. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { framings } from './framing.ts';
import type { ModbusRequest } from './modbus-frame.ts';
import { checksum, rtuFrame } from './rtu-frame.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const asked = (request: ModbusRequest) => ({ transaction: 7, unit: 17, request });
const read = asked({ code: 3, start: 107, count: 3 });

describe('[points §3.1] RTU frames', () => {
  test.each<[ModbusRequest, string]>([
    [{ code: 3, start: 107, count: 3 }, '11 03 006b 0003 7687'],
    [{ code: 1, start: 19, count: 37 }, '11 01 0013 0025 0e84'],
    [{ code: 5, start: 172, on: true }, '11 05 00ac ff00 4e8b'],
    [{ code: 6, start: 1, registers: hex('0003') }, '11 06 0001 0003 9a9b'],
    [{ code: 16, start: 1, registers: hex('000a 0102') }, '11 10 0001 0002 04 000a 0102 c6f0'],
  ])('%j, byte by byte as on the serial line', (request, bytes) => {
    expect(framings.rtu.frame(asked(request)).toString('hex')).toBe(bytes.replaceAll(' ', ''));
  });

  test('the check value of the checksum: 123456789 is 4b37', () => {
    expect(checksum(Buffer.from('123456789'))).toBe(0x4b37);
  });

  test('an answer is taken when it is whole, an exception too; a second copy is dropped', () => {
    const answer = hex('11 03 06 ae41 5652 4340 49ad');
    expect(framings.rtu.take(answer.subarray(0, 10), read)?.pdu).toBeUndefined();
    expect(framings.rtu.take(answer, read)?.pdu).toEqual(answer.subarray(1, -2));
    const doubled = framings.rtu.take(Buffer.concat([answer, answer]), read);
    expect([doubled?.pdu, doubled?.rest.length]).toEqual([answer.subarray(1, -2), 0]);
    expect(framings.rtu.take(answer, undefined)).toEqual({ pdu: undefined, rest: Buffer.alloc(0) });
    expect(framings.rtu.take(rtuFrame(17, hex('83 02')), read)?.pdu).toEqual(hex('83 02'));
  });

  test('a wrong checksum, and another unit, are not an answer', () => {
    expect(framings.rtu.take(hex('11 03 06 ae41 5652 4340 49ae'), read)).toBeNull();
    expect(framings.rtu.take(rtuFrame(18, hex('83 02')), read)).toBeNull();
  });

  test('any bytes are an answer, the start of one, or refused; never more than one frame is buffered', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        const taken = framings.rtu.take(Buffer.from(bytes), read);
        expect(taken === null || taken.rest.length < 11).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
