/**
 * An MQTT broker on loopback for tests: real sockets, a log of what was published to it. It can be stopped and started
 * on the same port, ask for a password, use TLS, fall silent while staying connected, and refuse subscriptions.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { Aedes } from 'aedes';
import { systemClock } from '../base/clock.ts';
import type { MqttCredentials } from '../devices/driver/mqtt.ts';
import { ownPort } from './own-port.ts';

interface BrokerMessage {
  readonly topic: string;
  readonly payload: string;
  readonly qos: number;
  readonly retain: boolean;
  readonly atMs: number;
}

export interface MqttBroker {
  readonly port: number;
  /** Messages of clients, not the broker's own. */
  readonly messages: BrokerMessage[];
  /** Of every client that tried to connect, in order. */
  readonly clientIds: readonly string[];
  connections(): number;
  /** Sends a message to subscribers as another device would; false when the broker is stopped, or stops before it accepts it. */
  publish(topic: string, payload: string, retain?: boolean): Promise<boolean>;
  /** Closes the port and every connection; a restarted broker has forgotten its sessions. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Sends these bytes on every connection, whatever they are. */
  babble(bytes: Buffer): void;
  /** Reads everything and answers nothing, until told otherwise. */
  silence(silent: boolean): void;
}

export interface BrokerOptions {
  readonly user?: { readonly name: string; readonly password: string };
  /** With `ca`, only clients with a certificate of that authority connect. */
  readonly tls?: { readonly key: string; readonly cert: string; readonly ca?: string };
  /** Topics whose subscription is refused. */
  readonly forbidden?: readonly string[];
  /** Topics whose subscription ends the connection. */
  readonly fatal?: readonly string[];
}

/** Of a client that a broker asks for nothing. */
export const noCredentials: MqttCredentials = {
  username: undefined,
  password: undefined,
  ca: undefined,
  cert: undefined,
  key: undefined,
};

/** Writes a certificate and its key to `cert.pem` and `key.pem`; a broker with the answer trusts only clients that have them. */
export function writeCertificate(
  folder: string,
  name: 'broker' | 'renewed' | 'ended',
): { key: string; cert: string; ca: string } {
  const part = (which: string): string => {
    const fixture = join(import.meta.dirname, '..', 'devices', 'driver', 'fixture', `${name}-${which}.pem`);
    const text = readFileSync(fixture, 'utf8');
    writeFileSync(join(folder, `${which}.pem`), text);
    return text;
  };
  const cert = part('cert');
  return { key: part('key'), cert, ca: cert };
}

/** The settings of a channel that uses them. */
export const certificateFiles = 'ca_file: cert.pem, cert_file: cert.pem, key_file: key.pem';

/** The beginning of a site file with a channel on this broker: lines of points follow. `more` continues the channel. */
export const brokerSite = (port: number, more = ''): string => `
schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
  - { id: broker, driver: mqtt, url: "mqtt://127.0.0.1:${port}"${more} }
instances:
  - id: 1
    name: plant
    points:
`;

export async function startMqttBroker(options: BrokerOptions = {}): Promise<MqttBroker> {
  const messages: BrokerMessage[] = [];
  const clientIds: string[] = [];
  const sockets = new Set<Socket>();
  /** Publications that the running broker has not accepted yet. */
  const unsettled = new Set<() => void>();
  let silent = false;
  const port = await ownPort();
  let running: { readonly broker: Aedes; readonly server: Server } | undefined;

  const start = async (): Promise<void> => {
    const broker = await Aedes.createBroker({
      authenticate: (client, name, password, done) => {
        clientIds.push(client.id);
        const { user } = options;
        done(null, user === undefined || (user.name === name && user.password === password?.toString()));
      },
      authorizeSubscribe: (client, subscription, done) => {
        if (options.fatal?.includes(subscription.topic) === true) client?.close();
        else done(null, options.forbidden?.includes(subscription.topic) === true ? null : subscription);
      },
    });
    broker.on('publish', (packet, client) => {
      if (client === null) return;
      const { topic, qos, retain } = packet;
      messages.push({ topic, payload: packet.payload.toString(), qos, retain, atMs: systemClock.monotonicMs() });
    });
    const serve = (socket: Socket): void => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => socket.destroy());
      muteable(socket, () => silent);
      broker.handle(socket);
    };
    const server =
      options.tls === undefined
        ? createServer(serve)
        : createTlsServer({ ...options.tls, requestCert: options.tls.ca !== undefined }, serve);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    running = { broker, server };
  };
  await start();
  return {
    port,
    messages,
    clientIds,
    connections: () => sockets.size,
    publish: (topic, payload, retain = false) =>
      new Promise((resolve, reject) => {
        if (running === undefined) return resolve(false);
        const packet = { cmd: 'publish', topic, payload, qos: 1, retain, dup: false } as const;
        const refuse = (): void => resolve(false);
        unsettled.add(refuse);
        running.broker.publish(packet, (error) => {
          unsettled.delete(refuse);
          if (error) reject(error);
          else resolve(true);
        });
      }),
    start,
    async stop() {
      const stopping = running;
      running = undefined;
      for (const socket of sockets) socket.destroy();
      for (const refuse of unsettled) refuse();
      unsettled.clear();
      if (stopping === undefined) return;
      await new Promise<void>((resolve) => void stopping.server.close(() => resolve()));
      await new Promise<void>((resolve) => stopping.broker.close(() => resolve()));
    },
    babble(bytes) {
      for (const socket of sockets) socket.write(bytes);
    },
    silence(value) {
      silent = value;
    },
  };
}

/** Drops what the broker writes while it is silent; the connection stays open. */
function muteable(socket: Socket, silent: () => boolean): void {
  const write = socket.write.bind(socket);
  // Only the muted form differs; both forms of the call end in the socket's own.
  const answer: Socket['write'] = (...args: [never, never?, never?]) => (silent() ? true : write(...args));
  socket.write = answer;
}
