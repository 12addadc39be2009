/**
 * One Modbus connection: one request in flight, each with a deadline. Frames without an open request (late,
 * duplicate) are dropped; bytes that are not Modbus, a wrong answer and a missing one end the connection.
 */
import { Socket } from 'node:net';
import type { Clock, Timer } from '../../base/clock.ts';
import { type Asked, type FramingName, framings } from './framing.ts';
import { answerTo, type ModbusAnswer, type ModbusRequest } from './modbus-frame.ts';

/** Sends a request to a unit; null if the connection ended before the answer. */
export type AskUnit = (unit: number, request: ModbusRequest) => Promise<ModbusAnswer | null>;

export interface ModbusPlace {
  readonly host: string;
  readonly port: number;
  /** Of the connection, and of each answer. */
  readonly timeout_ms: number;
  readonly framing?: FramingName;
}

/** The transport: a TCP socket, or a simulated one. */
export interface ModbusWire {
  readonly isOpen: boolean;
  write(bytes: Buffer): void;
  /** Ends the connection; `closed` follows, in a later turn. */
  destroy(): void;
}

export interface WireEvents {
  connected(): void;
  data(chunk: Buffer): void;
  failed(reason: string): void;
  closed(): void;
}

export type OpenWire = (place: ModbusPlace, events: WireEvents) => ModbusWire;

const openTcp: OpenWire = ({ host, port }, events) => {
  const socket = new Socket();
  socket.setNoDelay(true);
  socket.on('connect', () => events.connected());
  socket.on('data', (chunk) => events.data(chunk));
  socket.on('error', (error) => events.failed(error.message));
  socket.on('close', () => events.closed());
  socket.connect({ host, port });
  return {
    get isOpen() {
      return socket.readyState === 'open';
    },
    write: (bytes) => void socket.write(bytes),
    destroy: () => void socket.destroy(),
  };
};

export interface ConnectionEnd {
  readonly reason: string;
  /** This unit did not answer in time, or not with a valid answer. */
  readonly badUnit: number | null;
  /** The device had answered on it, and closed it: many do after a time without requests, or after each. */
  readonly afterAnswers: boolean;
}

export interface ModbusEvents {
  connected(): void;
  /** Once, after `connected` or instead of it. */
  ended(end: ConnectionEnd): void;
}

interface Open extends Asked {
  readonly deadline: Timer;
  readonly settle: (answer: ModbusAnswer | null) => void;
}

const transactions = 0x1_0000;

export class ModbusClient {
  readonly #place: ModbusPlace;
  readonly #clock: Clock;
  readonly #wire: ModbusWire;
  readonly #framing;
  #open: Open | undefined;
  #received: Buffer = Buffer.alloc(0);
  #transaction = 0;
  #reason: string | null = null;
  #badUnit: number | null = null;
  #hasAnswered = false;
  #endedHere = false;

  constructor(place: ModbusPlace, clock: Clock, events: ModbusEvents, open: OpenWire = openTcp) {
    this.#place = place;
    this.#clock = clock;
    this.#framing = framings[place.framing ?? 'tcp'];
    const deadline = clock.after(place.timeout_ms, () => this.end('no connection in time'));
    this.#wire = open(place, {
      connected() {
        deadline.cancel();
        events.connected();
      },
      data: (chunk) => this.#take(chunk),
      failed: (reason) => (this.#reason ??= reason),
      closed: () => {
        deadline.cancel();
        const afterAnswers = this.#hasAnswered && !this.#endedHere;
        this.#reason ??= `the device closed the connection${this.#hasAnswered ? '' : ' without an answer'}`;
        this.#settle(null);
        events.ended({ reason: this.#reason, badUnit: this.#badUnit, afterAnswers });
      },
    });
  }

  get isOpen(): boolean {
    return this.#wire.isOpen;
  }

  /** Why the connection ended, if it did. */
  get reason(): string | null {
    return this.#reason;
  }

  /** The device's answer; null if there was none, and then the connection has ended. */
  request(unit: number, request: ModbusRequest): Promise<ModbusAnswer | null> {
    if (this.#open !== undefined) throw new Error('a Modbus request is in flight already');
    if (!this.isOpen) return Promise.resolve(null);
    this.#transaction = (this.#transaction + 1) % transactions;
    const transaction = this.#transaction;
    return new Promise((settle) => {
      const deadline = this.#clock.after(this.#place.timeout_ms, () => this.end('no answer in time'));
      this.#open = { transaction, unit, request, deadline, settle };
      this.#wire.write(this.#framing.frame(this.#open));
    });
  }

  end(reason: string): void {
    this.#endedHere = true;
    this.#reason ??= reason;
    this.#badUnit = this.#open?.unit ?? null;
    this.#settle(null);
    this.#wire.destroy();
  }

  #take(chunk: Buffer): void {
    const open = this.#open;
    const stream = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const taken = this.#framing.take(stream, open);
    if (taken === null) {
      this.end(`the answer is not Modbus ${(this.#place.framing ?? 'tcp').toUpperCase()}`);
      return;
    }
    this.#received = taken.rest;
    if (open === undefined) return;
    if (taken.otherUnit !== undefined)
      return this.end(`the device answered as unit ${taken.otherUnit}, not ${open.unit}`);
    if (taken.pdu === undefined) return;
    const answer = answerTo(open.request, taken.pdu);
    if (answer === null) return this.end('the answer does not match the request');
    this.#hasAnswered = true;
    this.#settle(answer);
  }

  #settle(answer: ModbusAnswer | null): void {
    const open = this.#open;
    this.#open = undefined;
    open?.deadline.cancel();
    open?.settle(answer);
  }
}
