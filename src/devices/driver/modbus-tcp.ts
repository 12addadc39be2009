/**
 * Driver `modbus-tcp` [points §3.1]: one request in flight per channel, commands and polls in turn, the connection
 * ended when a request is not answered, reconnect with bounded back-off. What cannot be read is bad, never old dressed as new.
 */
import type { Timer } from '../../base/clock.ts';
import type { TakenCommand } from '../../points/command-slots.ts';
import { modbusAddressOf } from '../../site/address.ts';
import { registersOf } from '../../site/protocol/modbus-raw.ts';
import type { ModbusAddress, ModbusChannel } from '../../site/protocol/modbus-tcp.ts';
import { quality } from '../../site/quality.ts';
import type { Driver, DriverContext, DriverFailure, RawReading } from '../driver.ts';
import { ModbusClient, type ModbusEvents, type OpenWire } from '../modbus/modbus-client.ts';
import { decodeRegisters, encodeRegisters, halves, type PollBlock, pollBlocks } from '../modbus/modbus-codec.ts';
import {
  bitAt,
  exceptionName,
  isTransient,
  type ModbusAnswer,
  type ModbusRequest,
  type ReadCode,
} from '../modbus/modbus-frame.ts';

export function createModbusDriver(channel: ModbusChannel, context: DriverContext, open?: OpenWire): Driver {
  return new ModbusDriver(channel, context, open);
}

class ModbusDriver implements Driver {
  readonly #channel: ModbusChannel;
  readonly #context: DriverContext;
  readonly #open: OpenWire | undefined;
  readonly #addresses: ReadonlyMap<number, ModbusAddress>;
  readonly #wholeBlocks: readonly PollBlock[];
  /** What one poll reads. A block that the device refuses is read in halves until the connection ends. */
  #blocks: readonly PollBlock[] = [];
  #client: ModbusClient | undefined;
  /** The device has answered on this connection: only then commands are taken. */
  #online = false;
  #busy = false;
  #stopped = false;
  #backOffMs: number;
  #pollDue: PollBlock[] = [];
  #pollTimer: Timer | undefined;
  #reconnectTimer: Timer | undefined;

  constructor(channel: ModbusChannel, context: DriverContext, open: OpenWire | undefined) {
    this.#channel = channel;
    this.#context = context;
    this.#open = open;
    this.#addresses = new Map(context.points.map((point) => [point.index, modbusAddressOf(point)]));
    this.#wholeBlocks = pollBlocks([...this.#addresses].map(([index, address]) => ({ index, address })));
    this.#backOffMs = context.limits.reconnect_min_ms;
  }

  start(): void {
    this.#connect();
  }

  wake(): void {
    void this.#work();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pollTimer?.cancel();
    this.#reconnectTimer?.cancel();
    this.#context.setOnline(false);
    this.#client?.end('the driver stops');
  }

  #connect(): void {
    const events: ModbusEvents = {
      connected: () => {
        this.#blocks = this.#wholeBlocks;
        this.#poll();
      },
      ended: (reason) => {
        if (this.#client !== client) return;
        if (reason !== null && !this.#stopped) this.#context.log.warn('channel failed', { reason });
        if (reason !== null && !this.#stopped)
          this.#context.readFailed(
            this.#context.points.map(({ index }) => index),
            { code: 'no-answer', message: reason },
          );
        this.#disconnected();
      },
    };
    const client = new ModbusClient(this.#channel, this.#context.clock, events, this.#open);
    this.#client = client;
  }

  /** Any answer, a refusal too, shows that the device is there. */
  #answered(what: 'read' | 'write', refused: boolean): void {
    if (this.#stopped) return;
    this.#context.answered(what, refused);
    if (this.#online) return;
    this.#online = true;
    this.#backOffMs = this.#context.limits.reconnect_min_ms;
    this.#context.log.info('channel online');
    this.#context.setOnline(true);
  }

  #disconnected(): void {
    this.#online = false;
    this.#context.setOnline(false);
    this.#pollTimer?.cancel();
    this.#pollDue = [];
    this.#client = undefined;
    if (this.#stopped) return;
    this.#context.publish(this.#context.points.map(({ index }) => unread(index)));
    this.#reconnectTimer = this.#context.clock.after(this.#backOffMs, () => this.#connect());
    this.#backOffMs = Math.min(this.#backOffMs * 2, this.#context.limits.reconnect_max_ms);
  }

  /** Every block becomes due once per interval; a device slower than the interval is simply read less often. */
  #poll(): void {
    if (this.#pollDue.length === 0) this.#pollDue = [...this.#blocks];
    this.#pollTimer = this.#context.clock.after(this.#channel.poll_interval_ms, () => this.#poll());
    void this.#work();
  }

  /** One request at a time. A command goes first, but after each one a poll that is due has its turn. */
  async #work(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    let pollsTurn = false;
    while (this.#client?.isOpen === true) {
      const mayCommand: boolean = this.#online && !(pollsTurn && this.#pollDue.length > 0);
      const command: TakenCommand | null = mayCommand ? this.#context.nextCommand() : null;
      const block = command === null ? this.#pollDue.shift() : undefined;
      pollsTurn = command !== null;
      if (command !== null) await this.#send(this.#client, command);
      else if (block !== undefined) await this.#read(this.#client, block);
      else break;
    }
    this.#busy = false;
  }

  async #send(client: ModbusClient, command: TakenCommand): Promise<void> {
    const address = this.#addresses.get(command.index);
    if (address === undefined) throw new Error('a command for a point of another channel');
    const write = writeOf(address, command.value, this.#channel.word_order);
    const answer = write === null ? null : await client.request(write.request);
    const isWritten = answer?.kind === 'written';
    this.#context.commandDone(command, isWritten ? null : failureOf(write === null ? 'no-register' : answer));
    if (write === null) this.#context.log.warn('a value does not fit its register', { type: address.type });
    if (answer === null) return;
    this.#answered('write', !isWritten);
    // The device confirmed it; the next poll reads it back.
    if (isWritten && write !== null)
      this.#context.publish([{ index: command.index, raw: write.held, quality: quality.good }]);
    if (answer.kind === 'exception')
      this.#context.log.warn('modbus write refused', { reason: exceptionName(answer.code) });
  }

  async #read(client: ModbusClient, block: PollBlock): Promise<void> {
    const answer = await client.request({ code: readCodes[block.table], start: block.start, count: block.count });
    // Without an answer the connection has ended, and everything that it had read is bad already.
    if (answer === null) return;
    this.#answered('read', answer.kind !== 'data');
    if (answer.kind === 'data') {
      this.#context.publish(this.#readings(block, answer.bytes));
      return;
    }
    const indexes = block.items.map(({ index }) => index);
    this.#context.publish(indexes.map(unread));
    this.#context.readFailed(indexes, failureOf(answer));
    if (answer.kind !== 'exception') return;
    this.#context.log.warn('modbus read refused', { reason: exceptionName(answer.code) });
    if (!isTransient(answer.code) && block.items.length > 1) this.#split(block);
  }

  /** One register that the device does not have must not hide its neighbours: halves, until it stands alone. */
  #split(block: PollBlock): void {
    const parts = halves(block);
    this.#blocks = this.#blocks.flatMap((other) => (other === block ? parts : [other]));
    this.#pollDue.unshift(...parts);
  }

  #readings(block: PollBlock, bytes: Buffer): RawReading[] {
    return block.items.map(({ index, address: { register, type } }) => {
      const from = register - block.start;
      if (type === 'bool') return reading(index, Number(bitAt(bytes, from) ?? Number.NaN));
      const part = bytes.subarray(from * 2, (from + registersOf[type]) * 2);
      return reading(index, decodeRegisters(part, type, this.#channel.word_order));
    });
  }
}

const readCodes: Readonly<Record<PollBlock['table'], ReadCode>> = { coil: 1, discrete: 2, holding: 3, input: 4 };

/** The request that writes `value`, and what the register then holds; null when the value does not fit. */
function writeOf(
  { register: start, type }: ModbusAddress,
  value: number,
  order: ModbusChannel['word_order'],
): { readonly request: ModbusRequest; readonly held: number } | null {
  if (type === 'bool') {
    const on = Math.round(value) !== 0;
    return { request: { code: 5, start, on }, held: on ? 1 : 0 };
  }
  const registers = encodeRegisters(value, type, order);
  if (registers === null) return null;
  const code = registers.length === 2 ? 6 : 16;
  return { request: { code, start, registers }, held: decodeRegisters(registers, type, order) };
}

/** Why a request failed. No answer means that the connection has ended. */
function failureOf(answer: ModbusAnswer | 'no-register' | null): DriverFailure {
  if (answer === null) return { code: 'no-answer', message: 'the connection ended before the device answered' };
  if (answer === 'no-register') return { code: 'not-encodable', message: 'the value does not fit its register' };
  return {
    code: 'refused',
    message: answer.kind === 'exception' ? exceptionName(answer.code) : 'an answer of another kind',
  };
}

function reading(index: number, raw: number): RawReading {
  return { index, raw, quality: Number.isFinite(raw) ? quality.good : quality.bad };
}

function unread(index: number): RawReading {
  return { index, raw: Number.NaN, quality: quality.bad };
}
