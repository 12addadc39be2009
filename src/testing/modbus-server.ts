/**
 * A Modbus TCP device on loopback for tests: real sockets, registers to set and read, a log of every write with its
 * time. It can be stopped and started on the same port, fall silent while staying connected, be slow, refuse registers
 * that it does not have, and send nonsense.
 */
import { createServer, type Server, type Socket } from 'node:net';
import Modbus from 'jsmodbus';
import { systemClock } from '../base/clock.ts';
import { ownPort } from './own-port.ts';

interface ModbusWrite {
  readonly table: 'holding' | 'coil';
  readonly register: number;
  readonly atMs: number;
}

export interface ModbusDevice {
  readonly port: number;
  readonly holding: Buffer;
  readonly input: Buffer;
  readonly coils: Buffer;
  readonly discrete: Buffer;
  readonly writes: ModbusWrite[];
  /** Read requests of holding and input registers, in order. */
  readonly reads: { readonly start: number; readonly count: number }[];
  /** Open connections. */
  connections(): number;
  /** Connections made so far. */
  accepted(): number;
  /** The largest number of requests open at once. */
  openMaximum(): number;
  /** Closes the port and every connection. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
  /** Accepts and reads, but does not answer, until told otherwise. */
  silence(silent: boolean): void;
  /** Waits this long before each answer. */
  delay(ms: number): void;
  /** Lacks these registers: every read request that touches one is answered with the exception (default 2). */
  lack(registers: readonly number[], exception?: number): void;
  /** Answers every write of one of these holding registers with exception 2. */
  keep(registers: readonly number[]): void;
  /** Answers every request with this exception code instead of executing it; null ends that. */
  refuse(exception: number | null): void;
  /** Sends every answer this many times. */
  repeat(times: number): void;
  /** Answers with these bytes instead of its own. */
  babble(bytes: Buffer | null): void;
}

const tableBytes = 2048;
const illegalAddress = 2;

/** How the device behaves now. */
interface Manner {
  silent: boolean;
  delayMs: number;
  lacking: ReadonlySet<number>;
  nonsense: Buffer | null;
  /** The exception code for requests that touch a missing register. */
  lackingException: number;
  kept: ReadonlySet<number>;
  /** If not null, every request is answered with this exception code. */
  refusal: number | null;
  repeats: number;
  /** The request being answered touches a missing register. */
  refusing: boolean;
  open: number;
  openMaximum: number;
}

export async function startModbusDevice(): Promise<ModbusDevice> {
  const tables = {
    holding: Buffer.alloc(tableBytes),
    input: Buffer.alloc(tableBytes),
    coils: Buffer.alloc(tableBytes),
    discrete: Buffer.alloc(tableBytes),
  };
  const writes: ModbusWrite[] = [];
  const reads: { start: number; count: number }[] = [];
  const sockets = new Set<Socket>();
  const manner: Manner = {
    silent: false,
    delayMs: 0,
    lacking: new Set(),
    nonsense: null,
    lackingException: illegalAddress,
    kept: new Set(),
    refusal: null,
    repeats: 1,
    refusing: false,
    open: 0,
    openMaximum: 0,
  };
  const port = await ownPort();
  let accepted = 0;
  let server: Server | undefined;

  const start = async (): Promise<void> => {
    const listening = createServer();
    listening.on('connection', (socket) => {
      sockets.add(socket);
      accepted++;
      socket.on('close', () => {
        sockets.delete(socket);
        manner.open = 0;
      });
      socket.on('error', () => socket.destroy());
      answerIn(socket, manner);
    });
    const modbus = new Modbus.server.TCP(listening, tables);
    const arrived = (): void => {
      manner.open++;
      manner.openMaximum = Math.max(manner.openMaximum, manner.open);
    };
    const written = (table: ModbusWrite['table'], body: object): void => {
      arrived();
      if (manner.refusal !== null) return;
      const register = numberOf(body, 'address');
      manner.refusing = table === 'holding' && manner.kept.has(register);
      if (!manner.refusing) writes.push({ table, register, atMs: systemClock.monotonicMs() });
    };
    const read = (body: object): void => {
      arrived();
      const [first, count] = [numberOf(body, 'start'), numberOf(body, 'count')];
      reads.push({ start: first, count });
      manner.refusing = Array.from({ length: count }, (_, at) => first + at).some((at) => manner.lacking.has(at));
    };
    modbus.on('preWriteSingleRegister', ({ body }) => written('holding', body));
    modbus.on('preWriteMultipleRegisters', ({ body }) => written('holding', body));
    modbus.on('preWriteSingleCoil', ({ body }) => written('coil', body));
    modbus.on('preReadHoldingRegisters', ({ body }) => read(body));
    modbus.on('preReadInputRegisters', ({ body }) => read(body));
    modbus.on('preReadCoils', arrived);
    modbus.on('preReadDiscreteInputs', arrived);
    await new Promise<void>((resolve, reject) => {
      listening.once('error', reject);
      listening.listen(port, '127.0.0.1', resolve);
    });
    server = listening;
  };
  await start();
  return {
    port,
    ...tables,
    writes,
    reads,
    connections: () => sockets.size,
    accepted: () => accepted,
    openMaximum: () => manner.openMaximum,
    start,
    async stop() {
      const closing = server;
      server = undefined;
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => (closing === undefined ? resolve() : closing.close(() => resolve())));
    },
    silence(silent) {
      manner.silent = silent;
    },
    delay(ms) {
      manner.delayMs = ms;
    },
    lack(registers, exception = illegalAddress) {
      manner.lacking = new Set(registers);
      manner.lackingException = exception;
    },
    keep(registers) {
      manner.kept = new Set(registers);
    },
    refuse(exception) {
      manner.refusal = exception;
    },
    repeat(times) {
      manner.repeats = times;
    },
    babble(bytes) {
      manner.nonsense = bytes;
    },
  };
}

function numberOf(body: object, name: string): number {
  return Number(Reflect.get(body, name));
}

/** Applies the device's fault between the server's answers and the socket. */
function answerIn(socket: Socket, manner: Manner): void {
  const write = socket.write.bind(socket);
  const answer = (own: Buffer): boolean => {
    const exception = manner.refusal ?? (manner.refusing ? manner.lackingException : null);
    const bytes = manner.nonsense ?? (exception === null ? own : refusalOf(own, exception));
    manner.refusing = false;
    // The answer is dropped; the connection stays open.
    if (manner.silent) return true;
    const send = (): void => {
      manner.open--;
      for (let times = 0; times < manner.repeats && !socket.destroyed; times++) write(bytes);
    };
    if (manner.delayMs === 0) send();
    else systemClock.after(manner.delayMs, send);
    return true;
  };
  socket.write = answer;
}

/** The same header (transaction, protocol, length, unit), the function code with its error bit, one byte of exception code. */
function refusalOf(answer: Buffer, exception: number): Buffer {
  const refusal = Buffer.from(answer.subarray(0, 9));
  refusal.writeUInt16BE(3, 4);
  refusal.writeUInt8((answer[7] ?? 0) | 0x80, 7);
  refusal.writeUInt8(exception, 8);
  return refusal;
}
