/**
 * A Modbus device on TCP, in either framing: for rehearsals (`setpoint simulate`) and tests. Each request goes to `answer`;
 * its result is sent unchanged, which lets a test simulate faults.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { FramingName } from './framing.ts';
import { frameOf, takeFrames } from './modbus-frame.ts';
import { checksum, rtuFrame } from './rtu-frame.ts';

export interface DeviceRequest {
  readonly unit: number;
  readonly pdu: Buffer;
  /** The frame with the answer's PDU in it. */
  frame(pdu: Buffer): Buffer;
}

export interface ModbusServer {
  readonly port: number;
  connections(): number;
  /** Ends every connection and keeps listening. */
  disconnect(): void;
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly framing?: FramingName;
  readonly answer: (request: DeviceRequest, send: (bytes: Buffer) => void) => void;
}

export async function serveModbus({ host, port, framing = 'tcp', answer }: ServerOptions): Promise<ModbusServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    let received: Buffer = Buffer.alloc(0);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      const taken = requestsIn(framing, Buffer.concat([received, chunk]));
      if (taken === null) {
        socket.destroy();
        return;
      }
      received = taken.rest;
      for (const request of taken.requests) answer(request, (bytes) => void (socket.destroyed || socket.write(bytes)));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const disconnect = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => sockets.size,
    disconnect,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        disconnect();
      }),
  };
}

interface Requests {
  readonly requests: readonly DeviceRequest[];
  readonly rest: Buffer;
}

function requestsIn(framing: FramingName, stream: Buffer): Requests | null {
  if (framing === 'rtu') return rtuRequests(stream);
  const taken = takeFrames(stream);
  if (taken === null) return null;
  const requests = taken.frames.map(({ transaction, unit, pdu }) => ({
    unit,
    pdu,
    frame: (own: Buffer) => frameOf({ transaction, unit, pdu: own }),
  }));
  return { requests, rest: taken.rest };
}

/** Unit, function, place and amount, checksum; writes of many carry their data in between. */
const shortRequestBytes = 8;

function rtuRequests(stream: Buffer): Requests | null {
  const requests: DeviceRequest[] = [];
  let rest = stream;
  while (rest.length >= shortRequestBytes) {
    const many = rest[1] === 15 || rest[1] === 16;
    const length = many ? shortRequestBytes + 1 + rest.readUInt8(6) : shortRequestBytes;
    if (rest.length < length) break;
    const body = rest.subarray(0, length - 2);
    if (rest.readUInt16LE(length - 2) !== checksum(body)) return null;
    const unit = body.readUInt8(0);
    requests.push({ unit, pdu: Buffer.from(body.subarray(1)), frame: (own) => rtuFrame(unit, own) });
    rest = rest.subarray(length);
  }
  return { requests, rest: Buffer.from(rest) };
}
