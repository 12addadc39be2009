/**
 * One Modbus TCP connection: one request in flight, each with a deadline. Frames that answer no open request (late,
 * doubled) are dropped; bytes that are not Modbus, a wrong answer and a missing one end the connection.
 */
import { Socket } from 'node:net';
import type { Clock, Timer } from '../../base/clock.ts';
import { answerTo, type ModbusAnswer, type ModbusRequest, requestFrame, takeFrames } from './modbus-frame.ts';

export interface ModbusPlace {
  readonly host: string;
  readonly port: number;
  readonly unit_id: number;
  /** Of the connection, and of each answer. */
  readonly timeout_ms: number;
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

export interface ModbusEvents {
  connected(): void;
  /** Once, after `connected` or instead of it. */
  ended(reason: string | null): void;
}

interface Open {
  readonly transaction: number;
  readonly request: ModbusRequest;
  readonly deadline: Timer;
  readonly settle: (answer: ModbusAnswer | null) => void;
}

const transactions = 0x1_0000;

export class ModbusClient {
  readonly #place: ModbusPlace;
  readonly #clock: Clock;
  readonly #wire: ModbusWire;
  #open: Open | undefined;
  #received: Buffer = Buffer.alloc(0);
  #transaction = 0;
  #reason: string | null = null;

  constructor(place: ModbusPlace, clock: Clock, events: ModbusEvents, open: OpenWire = openTcp) {
    this.#place = place;
    this.#clock = clock;
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
        this.#settle(null);
        events.ended(this.#reason);
      },
    });
  }

  get isOpen(): boolean {
    return this.#wire.isOpen;
  }

  /** The device's answer; null when there was none, and then the connection has ended. */
  request(request: ModbusRequest): Promise<ModbusAnswer | null> {
    if (this.#open !== undefined) throw new Error('a Modbus request is in flight already');
    if (!this.isOpen) return Promise.resolve(null);
    this.#transaction = (this.#transaction + 1) % transactions;
    const transaction = this.#transaction;
    return new Promise((settle) => {
      const deadline = this.#clock.after(this.#place.timeout_ms, () => this.end('no answer in time'));
      this.#open = { transaction, request, deadline, settle };
      this.#wire.write(requestFrame(transaction, this.#place.unit_id, request));
    });
  }

  end(reason: string): void {
    this.#reason ??= reason;
    this.#settle(null);
    this.#wire.destroy();
  }

  #take(chunk: Buffer): void {
    const taken = takeFrames(this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]));
    if (taken === null) {
      this.end('the answer is not Modbus TCP');
      return;
    }
    this.#received = taken.rest;
    for (const { transaction, unit, pdu } of taken.frames) {
      const open = this.#open;
      if (open === undefined || transaction !== open.transaction || unit !== this.#place.unit_id) continue;
      const answer = answerTo(open.request, pdu);
      if (answer === null) {
        this.end('the answer does not fit the request');
        return;
      }
      this.#settle(answer);
    }
  }

  #settle(answer: ModbusAnswer | null): void {
    const open = this.#open;
    this.#open = undefined;
    open?.deadline.cancel();
    open?.settle(answer);
  }
}
