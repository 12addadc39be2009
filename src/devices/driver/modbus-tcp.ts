/**
 * Driver `modbus-tcp` (decisions §2.6): one request in flight per channel, commands before polls, the socket destroyed
 * when a request times out, reconnect with bounded back-off. What cannot be read is bad, never old dressed as new.
 */
import { Socket } from 'node:net';
import Modbus from 'jsmodbus';
import type { Timer } from '../../base/clock.ts';
import type { ModbusAddress, ModbusChannel } from '../../points/channel.ts';
import type { TakenCommand } from '../../points/command-slots.ts';
import { quality } from '../../rules/snapshot.ts';
import type { Driver, DriverContext, RawReading } from '../driver.ts';
import { decodeRegisters, encodeRegisters, type PollBlock, pollBlocks, registerCount } from './modbus-codec.ts';

type Client = InstanceType<typeof Modbus.client.TCP>;

export function createModbusDriver(channel: ModbusChannel, context: DriverContext): Driver {
  return new ModbusDriver(channel, context);
}

class ModbusDriver implements Driver {
  readonly #channel: ModbusChannel;
  readonly #context: DriverContext;
  readonly #addresses: ReadonlyMap<number, ModbusAddress>;
  readonly #blocks: readonly PollBlock[];
  #socket: Socket | undefined;
  #client: Client | undefined;
  #busy = false;
  #stopped = false;
  #backOffMs: number;
  #pollDue: PollBlock[] = [];
  #pollTimer: Timer | undefined;
  #reconnectTimer: Timer | undefined;

  constructor(channel: ModbusChannel, context: DriverContext) {
    this.#channel = channel;
    this.#context = context;
    // The site's reader checked the address against this channel's grammar.
    this.#addresses = new Map(context.points.map((point) => [point.index, point.address as ModbusAddress]));
    this.#blocks = pollBlocks(
      context.points.map((point) => ({ index: point.index, address: point.address as ModbusAddress })),
    );
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
    const deadline = this.#context.clock.after(timeoutMs, () => socket.destroy());
    socket.setNoDelay(true);
    socket.on('connect', () => {
      deadline.cancel();
      this.#backOffMs = this.#context.limits.reconnect_min_ms;
      this.#context.log.info('channel connected', { channel: this.#channel.id });
      this.#context.setOnline(true);
      this.#poll();
    });
    socket.on('error', (error) =>
      this.#context.log.warn('channel failed', { channel: this.#channel.id, reason: error.message }),
    );
    socket.on('close', () => {
      deadline.cancel();
      this.#disconnected(socket);
    });
    socket.connect({ host, port });
  }

  #disconnected(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#context.setOnline(false);
    this.#pollTimer?.cancel();
    this.#pollDue = [];
    this.#socket = undefined;
    this.#client = undefined;
    if (this.#stopped) return;
    this.#context.publish(
      this.#context.points.map((point) => ({ index: point.index, raw: Number.NaN, quality: quality.bad })),
    );
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
      const command = this.#context.nextCommand();
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
      await this.#write(client, address, command.value);
      this.#context.commandDone(true);
      this.#context.publish([{ index: command.index, raw: command.value, quality: quality.good }]);
    } catch (error) {
      this.#context.commandDone(false);
      this.#failed('write', error);
    }
  }

  async #write(client: Client, address: ModbusAddress, value: number): Promise<void> {
    if (address.type === 'bool') {
      await client.writeSingleCoil(address.register, value !== 0);
      return;
    }
    const bytes = encodeRegisters(value, address.type, this.#channel.word_order);
    if (bytes === null) throw new RangeError(`the value does not fit ${address.type}`);
    if (bytes.length === 2) await client.writeSingleRegister(address.register, bytes.readUInt16BE());
    else await client.writeMultipleRegisters(address.register, bytes);
  }

  async #read(client: Client, block: PollBlock): Promise<void> {
    try {
      this.#context.publish(await this.#readings(client, block));
    } catch (error) {
      this.#context.publish(block.items.map(({ index }) => ({ index, raw: Number.NaN, quality: quality.bad })));
      this.#failed('read', error);
    }
  }

  async #readings(client: Client, block: PollBlock): Promise<RawReading[]> {
    if (block.table === 'coil' || block.table === 'discrete') {
      const request =
        block.table === 'coil'
          ? client.readCoils(block.start, block.count)
          : client.readDiscreteInputs(block.start, block.count);
      const bits = (await request).response.body.valuesAsArray;
      return block.items.map(({ index, address }) => ({
        index,
        raw: Number(bits[address.register - block.start] ?? Number.NaN),
        quality: quality.good,
      }));
    }
    const request =
      block.table === 'holding'
        ? client.readHoldingRegisters(block.start, block.count)
        : client.readInputRegisters(block.start, block.count);
    const bytes = (await request).response.body.valuesAsBuffer;
    return block.items.map(({ index, address }) => {
      const from = (address.register - block.start) * 2;
      const part = bytes.subarray(from, from + registerCount[address.type] * 2);
      const readable = address.type !== 'bool' && part.length === registerCount[address.type] * 2;
      const raw = readable ? decodeRegisters(part, address.type, this.#channel.word_order) : Number.NaN;
      return { index, raw, quality: Number.isFinite(raw) ? quality.good : quality.bad };
    });
  }

  /** An exception answer leaves the connection in order; after anything else its state is unknown and it is ended. */
  #failed(what: string, error: unknown): void {
    const kind =
      typeof error === 'object' && error !== null && 'err' in error
        ? String(error.err)
        : error instanceof Error
          ? error.message
          : 'unknown';
    this.#context.log.warn(`modbus ${what} failed`, { channel: this.#channel.id, reason: kind });
    if (kind !== 'ModbusException' && !(error instanceof RangeError)) this.#socket?.destroy();
  }
}
