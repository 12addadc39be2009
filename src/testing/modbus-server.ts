/**
 * A Modbus TCP device on loopback for tests: real sockets, registers to set and read, a log of every write with its
 * time; it can be stopped and started on the same port, and can fall silent while staying connected.
 */

import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import Modbus from 'jsmodbus';
import { systemClock } from '../base/clock.ts';

export interface ModbusWrite {
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
  /** Open connections. */
  connections(): number;
  /** Closes the port and every connection. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
  /** Accepts and reads, but answers nothing, until told otherwise. */
  silence(silent: boolean): void;
}

const tableBytes = 2048;

export async function startModbusDevice(): Promise<ModbusDevice> {
  const tables = {
    holding: Buffer.alloc(tableBytes),
    input: Buffer.alloc(tableBytes),
    coils: Buffer.alloc(tableBytes),
    discrete: Buffer.alloc(tableBytes),
  };
  const writes: ModbusWrite[] = [];
  const sockets = new Set<Socket>();
  let silent = false;
  let port = 0;
  let server: Server | undefined;

  const start = async (): Promise<void> => {
    const listening = createServer();
    listening.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => socket.destroy());
      // Silence swallows what would be written back; the connection stays open.
      const write = socket.write.bind(socket);
      socket.write = ((...args: Parameters<Socket['write']>) => (silent ? true : write(...args))) as Socket['write'];
    });
    const modbus = new Modbus.server.TCP(listening, tables);
    const noted = (table: ModbusWrite['table'], body: object): void =>
      void writes.push({
        table,
        register: 'address' in body ? Number(body.address) : Number.NaN,
        atMs: systemClock.monotonicMs(),
      });
    modbus.on('preWriteSingleRegister', (request) => noted('holding', request.body));
    modbus.on('preWriteMultipleRegisters', (request) => noted('holding', request.body));
    modbus.on('preWriteSingleCoil', (request) => noted('coil', request.body));
    await new Promise<void>((resolve, reject) => {
      listening.once('error', reject);
      listening.listen(port, '127.0.0.1', resolve);
    });
    port = (listening.address() as AddressInfo).port;
    server = listening;
  };
  await start();
  return {
    get port() {
      return port;
    },
    ...tables,
    writes,
    connections: () => sockets.size,
    start,
    async stop() {
      const closing = server;
      server = undefined;
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => (closing === undefined ? resolve() : closing.close(() => resolve())));
    },
    silence(value) {
      silent = value;
    },
  };
}
