/**
 * Driver `modbus-tcp` (decisions §2.6): one request in flight per channel, commands before polls, the socket destroyed
 * when a request times out, reconnect with bounded back-off. What cannot be read is bad, never old dressed as new.
 */
import { Socket } from 'node:net';
import Modbus from 'jsmodbus';
import type { Timer } from '../../base/clock.ts';
import { type ModbusAddress, type ModbusChannel, modbusAddressOf, registersOf } from '../../points/channel.ts';
import type { TakenCommand } from '../../points/command-slots.ts';
import { quality } from '../../rules/snapshot.ts';
import type { Driver, DriverContext, RawReading } from '../driver.ts';
import { decodeRegisters, encodeRegisters, type PollBlock, pollBlocks } from './modbus-codec.ts';

type Client = InstanceType<typeof Modbus.client.TCP>;

export function createModbusDriver(channel: ModbusChannel, context: DriverContext): Driver {
  return new ModbusDriver(channel, context);
}

class ModbusDriver implements Driver {
  readonly #channel: ModbusChannel;
  readonly #context: DriverContext;
  readonly #addresses: ReadonlyMap<number, ModbusAddress>;
  /** What one poll reads. A block that the device refuses is read point by point from then on. */
  #blocks: readonly PollBlock[];
  #socket: Socket | undefined;
  #client: Client | undefined;
  /** The device has answered on this connection: only then commands are taken. */
  #online = false;
  #busy = false;
  #stopped = false;
  #backOffMs: number;
  #pollDue: PollBlock[] = [];
  #pollTimer: Timer | undefined;
  #reconnectTimer: Timer | undefined;

  constructor(channel: ModbusChannel, context: DriverContext) {
    this.#channel = channel;
    this.#context = context;
    this.#addresses = new Map(context.points.map((point) => [point.index, modbusAddressOf(point)]));
    this.#blocks = pollBlocks([...this.#addresses].map(([index, address]) => ({ index, address })));
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
    this.#socket?.destroy();
  }

  #connect(): void {
    const { host, port, unit_id: unitId, timeout_ms: timeoutMs } = this.#channel;
    const socket = new Socket();
    this.#socket = socket;
    this.#client = new Modbus.client.TCP(socket, unitId, timeoutMs);
    const deadline = this.#context.clock.after(timeoutMs, () => socket.destroy(new Error('no connection in time')));
    socket.setNoDelay(true);
    socket.on('connect', () => {
      deadline.cancel();
      this.#poll();
    });
    socket.on('error', (error) => this.#context.log.warn('channel failed', { reason: error.message }));
    socket.on('close', () => {
      deadline.cancel();
      this.#disconnected(socket);
    });
    socket.connect({ host, port });
  }

  /** Any answer, a refusal too, shows that the device is there. */
  #answered(): void {
    if (this.#online || this.#stopped) return;
    this.#online = true;
    this.#backOffMs = this.#context.limits.reconnect_min_ms;
    this.#context.log.info('channel online');
    this.#context.setOnline(true);
  }

  #disconnected(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#online = false;
    this.#context.setOnline(false);
    this.#pollTimer?.cancel();
    this.#pollDue = [];
    this.#socket = undefined;
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

  /** One request at a time: commands first, then due polls. */
  async #work(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    while (this.#client !== undefined && this.#socket?.readyState === 'open') {
      const command = this.#online ? this.#context.nextCommand() : null;
      const block = command === null ? this.#pollDue.shift() : undefined;
      if (command !== null) await this.#send(this.#client, command);
      else if (block !== undefined) await this.#read(this.#client, block);
      else break;
    }
    this.#busy = false;
  }

  async #send(client: Client, command: TakenCommand): Promise<void> {
    const address = this.#addresses.get(command.index);
    if (address === undefined) throw new Error('a command for a point of another channel');
    try {
      const written = await this.#write(client, address, command.value);
      this.#context.commandDone(command.index, written !== null);
      if (written === null) this.#context.log.warn('a value does not fit its register', { type: address.type });
      // The device confirmed it; the next poll reads it back.
      else this.#context.publish([{ index: command.index, raw: written, quality: quality.good }]);
    } catch (error) {
      this.#context.commandDone(command.index, false);
      this.#failed('write', client, error);
    }
  }

  /** What the registers now hold, or null when the value does not fit and nothing was sent. */
  async #write(client: Client, address: ModbusAddress, value: number): Promise<number | null> {
    const { register, type } = address;
    if (type === 'bool') {
      await client.writeSingleCoil(register, value !== 0);
      return value === 0 ? 0 : 1;
    }
    const order = this.#channel.word_order;
    const bytes = encodeRegisters(value, type, order);
    if (bytes === null) return null;
    if (bytes.length === 2) await client.writeSingleRegister(register, bytes.readUInt16BE());
    else await client.writeMultipleRegisters(register, bytes);
    return decodeRegisters(bytes, type, order);
  }

  async #read(client: Client, block: PollBlock): Promise<void> {
    try {
      const readings = await this.#readings(client, block);
      this.#answered();
      this.#context.publish(readings);
    } catch (error) {
      this.#context.publish(block.items.map(({ index }) => unread(index)));
      this.#failed('read', client, error);
      if (refusalCode(error) === illegalAddress) this.#split(block);
    }
  }

  /** One register that the device does not have must not hide its neighbours. */
  #split(block: PollBlock): void {
    if (block.items.length === 1) return;
    const single = block.items.flatMap((item) => pollBlocks([item]));
    this.#blocks = this.#blocks.flatMap((other) => (other === block ? single : [other]));
    this.#pollDue.unshift(...single);
  }

  async #readings(client: Client, block: PollBlock): Promise<RawReading[]> {
    if (block.table === 'coil' || block.table === 'discrete') {
      const request =
        block.table === 'coil'
          ? client.readCoils(block.start, block.count)
          : client.readDiscreteInputs(block.start, block.count);
      const bits = (await request).response.body.valuesAsArray;
      return block.items.map(({ index, address }) =>
        reading(index, Number(bits[address.register - block.start] ?? Number.NaN)),
      );
    }
    const request =
      block.table === 'holding'
        ? client.readHoldingRegisters(block.start, block.count)
        : client.readInputRegisters(block.start, block.count);
    const bytes = (await request).response.body.valuesAsBuffer;
    return block.items.map(({ index, address: { register, type } }) => {
      const from = (register - block.start) * 2;
      const part = bytes.subarray(from, from + registersOf[type] * 2);
      // The site's reader lets no bool stand in a register table; an answer may be shorter than asked.
      if (type === 'bool' || part.length !== registersOf[type] * 2) return unread(index);
      return reading(index, decodeRegisters(part, type, this.#channel.word_order));
    });
  }

  /** A refusal leaves the connection in order; after anything else its state is unknown and it is ended. */
  #failed(what: 'read' | 'write', client: Client, error: unknown): void {
    if (this.#stopped) return;
    if (refusalCode(error) !== null) this.#answered();
    else client.socket.destroy();
    this.#context.log.warn(`modbus ${what} failed`, { reason: reasonOf(error) });
  }
}

function reading(index: number, raw: number): RawReading {
  return { index, raw, quality: Number.isFinite(raw) ? quality.good : quality.bad };
}

function unread(index: number): RawReading {
  return { index, raw: Number.NaN, quality: quality.bad };
}

/** The protocol's code for a register that the device does not have. */
const illegalAddress = 2;

/** The exception code that the device answered with; null when it did not answer at all. */
function refusalCode(error: unknown): number | null {
  if (typeof error !== 'object' || error === null || !('err' in error) || error.err !== 'ModbusException') return null;
  const answer: unknown = 'response' in error ? error.response : undefined;
  const body: unknown = typeof answer === 'object' && answer !== null && 'body' in answer ? answer.body : undefined;
  return typeof body === 'object' && body !== null && 'code' in body ? Number(body.code) : 0;
}

function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return 'unknown';
  return String(error.message);
}
