/** The two framings of Modbus over TCP [points §3.1]: pure, bytes in, bytes out. */
import { frameOf, type ModbusRequest, pduOf, takeFrames } from './modbus-frame.ts';
import { rtuFrame, takeRtuAnswer } from './rtu-frame.ts';

export type FramingName = 'tcp' | 'rtu';

/** A request whose answer has not come. */
export interface Asked {
  readonly transaction: number;
  readonly unit: number;
  readonly request: ModbusRequest;
}

export interface Framing {
  frame(asked: Asked): Buffer;
  /** Null if the bytes are not valid in this framing. */
  take(stream: Buffer, asked: Asked | undefined): Taken | null;
}

interface Taken {
  /** The first one that answers `asked`. */
  readonly pdu: Buffer | undefined;
  readonly rest: Buffer;
  /** The device answered the request under the number of another unit. */
  readonly otherUnit?: number;
}

const nothing: Buffer = Buffer.alloc(0);

/** Frames without an open request (late, duplicate) are recognized by their transaction and dropped. */
const tcp: Framing = {
  frame: ({ transaction, unit, request }) => frameOf({ transaction, unit, pdu: pduOf(request) }),
  take(stream, asked) {
    const taken = takeFrames(stream);
    if (taken === null) return null;
    const answer = taken.frames.find(({ transaction }) => transaction === asked?.transaction);
    if (answer === undefined || asked === undefined) return { pdu: undefined, rest: taken.rest };
    if (answer.unit !== asked.unit) return { pdu: undefined, rest: taken.rest, otherUnit: answer.unit };
    return { pdu: answer.pdu, rest: taken.rest };
  },
};

/** Bytes that arrive without a request are dropped. */
const rtu: Framing = {
  frame: ({ unit, request }) => rtuFrame(unit, pduOf(request)),
  take(stream, asked) {
    if (asked === undefined) return { pdu: undefined, rest: nothing };
    const taken = takeRtuAnswer(stream, asked.unit, asked.request);
    if (taken === null) return null;
    // Nothing else was requested: anything after the answer is a duplicate.
    return taken === undefined ? { pdu: undefined, rest: stream } : { pdu: taken.pdu, rest: nothing };
  },
};

export const framings: Readonly<Record<FramingName, Framing>> = { tcp, rtu };
