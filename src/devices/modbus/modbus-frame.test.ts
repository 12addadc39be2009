/** Modbus TCP frames: known bytes, every request and answer, and random bytes. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerTo, bitAt, exceptionName, frameOf, type ModbusRequest, pduOf, takeFrames } from './modbus-frame.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('[points §3.1] Modbus TCP: the eight function codes', () => {
  test.each<[string, ModbusRequest, string]>([
    ['read coils', { code: 1, start: 19, count: 37 }, '0001 0000 0006 11 01 0013 0025'],
    ['read discrete inputs', { code: 2, start: 196, count: 22 }, '0001 0000 0006 11 02 00c4 0016'],
    ['read holding registers', { code: 3, start: 107, count: 3 }, '0001 0000 0006 11 03 006b 0003'],
    ['read input registers', { code: 4, start: 8, count: 1 }, '0001 0000 0006 11 04 0008 0001'],
    ['write single coil on', { code: 5, start: 172, on: true }, '0001 0000 0006 11 05 00ac ff00'],
    ['write single coil off', { code: 5, start: 172, on: false }, '0001 0000 0006 11 05 00ac 0000'],
    ['write single register', { code: 6, start: 1, registers: hex('0003') }, '0001 0000 0006 11 06 0001 0003'],
    [
      'write multiple coils',
      { code: 15, start: 19, bits: [1, 0, 1, 1, 0, 0, 1, 1, 1, 0].map((bit) => bit === 1) },
      '0001 0000 0009 11 0f 0013 000a 02 cd01',
    ],
    [
      'write multiple registers',
      { code: 16, start: 1, registers: hex('000a 0102') },
      '0001 0000 000b 11 10 0001 0002 04 000a 0102',
    ],
  ])('%s, byte by byte as the protocol writes it', (_, request, bytes) => {
    expect(frameOf({ transaction: 1, unit: 0x11, pdu: pduOf(request) }).toString('hex')).toBe(
      bytes.replaceAll(' ', ''),
    );
  });

  test('decodes data, confirmations and exceptions, each only for its own request', () => {
    const read: ModbusRequest = { code: 3, start: 107, count: 2 };
    expect(answerTo(read, hex('03 04 022b 0064'))).toEqual({ kind: 'data', bytes: hex('022b 0064') });
    for (const other of ['03 02 022b', '03 04 022b', '03 04 022b 0064 00', '04 04 022b 0064', '', '03'])
      expect(answerTo(read, hex(other)), other).toBeNull();
    const write: ModbusRequest = { code: 16, start: 1, registers: hex('000a 0102') };
    expect(answerTo(write, hex('10 0001 0002'))).toEqual({ kind: 'written' });
    for (const other of ['10 0001 0001', '10 0002 0002', '10 0001 0002 00', '10 0001'])
      expect(answerTo(write, hex(other)), other).toBeNull();
    expect(answerTo({ code: 5, start: 3, on: true }, hex('05 0003 ff00'))).toEqual({ kind: 'written' });
    expect(answerTo({ code: 5, start: 3, on: true }, hex('05 0003 0000'))).toEqual({
      kind: 'other-value',
      bytes: hex('0000'),
    });
    expect(answerTo({ code: 5, start: 3, on: true }, hex('05 0004 ff00'))).toBeNull();
    const bits = answerTo({ code: 1, start: 0, count: 10 }, hex('01 02 cd01'));
    expect(bits?.kind === 'data' && [0, 1, 2, 8, 9, 16].map((at) => bitAt(bits.bytes, at))).toEqual([
      true,
      false,
      true,
      true,
      false,
      undefined,
    ]);
  });

  test('[points §3.1] every exception code of a byte is a refusal, known to the protocol or not', () => {
    for (let code = 0; code < 256; code++)
      expect(answerTo({ code: 3, start: 0, count: 1 }, Buffer.of(0x83, code))).toEqual({ kind: 'exception', code });
    expect(answerTo({ code: 3, start: 0, count: 1 }, Buffer.of(0x83))).toBeNull();
    expect([exceptionName(2), exceptionName(99)]).toEqual(['exception 2 (illegal data address)', 'exception 99']);
  });
});

describe('a stream of frames', () => {
  const frame = fc.record({
    transaction: fc.nat(0xffff),
    unit: fc.nat(0xff),
    pdu: fc.uint8Array({ minLength: 1, maxLength: 253 }).map((bytes) => Buffer.from(bytes)),
  });

  test('any chunks give the same frames', () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 5 }), fc.array(fc.nat(1200)), (frames, cuts) => {
        const stream = Buffer.concat(frames.map(frameOf));
        const places = [0, ...cuts.map((cut) => cut % (stream.length + 1)).sort((a, b) => a - b), stream.length];
        const found: unknown[] = [];
        let rest: Buffer = Buffer.alloc(0);
        for (let part = 1; part < places.length; part++) {
          const taken = takeFrames(Buffer.concat([rest, stream.subarray(places[part - 1], places[part])]));
          if (taken === null) throw new Error('frames were refused');
          found.push(...taken.frames);
          rest = taken.rest;
        }
        expect(found).toEqual(frames);
        expect(rest).toHaveLength(0);
      }),
    );
  });

  test('any bytes are frames, the start of one, or refused; never more than one frame is buffered', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        const taken = takeFrames(Buffer.from(bytes));
        if (taken === null) return;
        expect(taken.rest.length).toBeLessThan(260);
        for (const { pdu } of taken.frames) {
          expect(pdu.length).toBeLessThanOrEqual(253);
          for (const code of [1, 2, 3, 4] as const) answerTo({ code, start: 0, count: 1 }, pdu);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('a length of 1 or 255, and another protocol, are not Modbus TCP', () => {
    for (const bytes of ['0001 0000 0001 11', '0001 0000 00ff 11 03', '0001 0001 0006 11 03'])
      expect(takeFrames(hex(bytes)), bytes).toBeNull();
    expect(takeFrames(hex('0001 0000 0002 11 03'))?.frames).toHaveLength(1);
  });
});
