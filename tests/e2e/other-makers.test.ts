/**
 * Servers and clients of other makers than those of the other suites [points §3.1], [points §3.2]: a Modbus server and a Modbus client of
 * modbus-serial, and mosquitto with its clients where it is installed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import modbusSerial from 'modbus-serial';
import { expect, test } from 'vitest';
import { ownPort } from '../../src/testing/own-port.ts';
import { afterThisTest, folders, start } from './per-test.ts';
import { programFile, serviceEnvironment, type TestService, waitFor } from './running-service.ts';

const { default: ModbusClient, ServerTCP } = modbusSerial;
const mosquitto = '/usr/sbin/mosquitto';
if (!existsSync(mosquitto)) process.stderr.write('mosquitto is not installed: its test does not run\n');

/** Values and qualities by name. */
async function pointsOf(service: TestService): Promise<Record<string, unknown>> {
  const list = (await service.read('/points')).body['data']?.['list'] as unknown as readonly {
    readonly name: string;
    readonly value: number | null;
    readonly quality: string;
  }[];
  return Object.fromEntries(list.map(({ name, value, quality }) => [name, quality === 'good' ? value : quality]));
}

async function hold(service: TestService, value: number): Promise<void> {
  const body = { value, for_seconds: 60, reason: 'to see it written' };
  expect((await service.command('POST', '/points/1/action/1/override', body)).status).toBe(200);
}

test('[points §3.1] a Modbus server of another maker: types, tables and units are read, and a command is written', async () => {
  const port = await ownPort();
  const written = new Map<string, number>();
  // By unit and register: a float of 1.5 × unit, -7, and a counter of 64 bits.
  const float = Buffer.alloc(4);
  const registerOf = (register: number, unit: number): number => {
    float.writeFloatBE(1.5 * unit);
    const words = [float.readUInt16BE(0), float.readUInt16BE(2), 0xfff9, 0, 0, 1, 2];
    return written.get(`${unit}/${register}`) ?? words[register - 100] ?? 0;
  };
  const server = new ServerTCP(
    {
      getHoldingRegister: registerOf,
      getInputRegister: registerOf,
      getCoil: (register: number) => register === 3,
      getDiscreteInput: (register: number) => register === 4,
      setRegister: (register: number, value: number, unit: number) => void written.set(`${unit}/${register}`, value),
    },
    { host: '127.0.0.1', port, unitID: 0 },
  );
  afterThisTest(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const at = (table: string, register: number, type: string, more = ''): string =>
    `channel: gateway, address: { table: ${table}, register: ${register}, type: ${type}${more} }`;
  const service = await start(
    folders(`schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
  - { id: gateway, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 100, timeout_ms: 1000, word_order: big }
instances:
  - id: 1
    name: one
    points:
      - { id: 1, name: float, kind: measurement, unit: kW, ${at('holding', 100, 'float32')} }
      - { id: 2, name: short, kind: measurement, unit: kW, ${at('input', 102, 'int16')} }
      - { id: 3, name: long, kind: measurement, unit: kWh, ${at('holding', 103, 'uint64')} }
      - { id: 4, name: coil, kind: measurement, unit: "1", ${at('coil', 3, 'bool')} }
      - { id: 5, name: input, kind: measurement, unit: "1", ${at('discrete', 4, 'bool')} }
      - { id: 6, name: other unit, kind: measurement, unit: kW, ${at('holding', 100, 'float32', ', unit_id: 2')} }
      - { id: 1, name: command, kind: action, unit: kW, min: -100, max: 100, ${at('holding', 200, 'float32')} }
`),
  );
  // The blocks are read one after the other.
  await expect
    .poll(() => pointsOf(service))
    .toMatchObject({
      float: 1.5,
      short: -7,
      long: 65_538,
      coil: 1,
      input: 1,
      'other unit': 3,
    });
  const scan = (query: string) => service.read(`/channels/gateway/scan?${query}`);
  const scanned = await scan('count=1000');
  expect([scanned.status, scanned.body['data']?.['registers']]).toEqual([
    200,
    expect.objectContaining({ length: 1000 }),
  ]);
  expect((await scan('count=1001')).status).toBe(400);
  await hold(service, -12.5);
  await waitFor(() => written.size === 2 || undefined);
  float.writeFloatBE(-12.5);
  expect([...written]).toEqual([
    ['1/200', float.readUInt16BE(0)],
    ['1/201', float.readUInt16BE(2)],
  ]);
});

test('[points §1.1] a Modbus client of another maker reads and writes the simulated device', async () => {
  const child = spawn(process.execPath, [programFile('setpoint'), 'simulate', 'victron-gx', '--port', '0'], {
    env: serviceEnvironment(folders()),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  afterThisTest(() => child.kill());
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const port = Number(await waitFor(() => /listens on 127\.0\.0\.1:(\d+)/.exec(said)?.[1]));
  const client = new ModbusClient();
  await client.connectTCP('127.0.0.1', { port });
  afterThisTest(() => new Promise<void>((resolve) => client.close(() => resolve())));
  client.setID(100);
  // Voltage in tenths and current in tenths, as the register list of the device says.
  expect((await client.readHoldingRegisters(840, 2)).data).toEqual([521, 123]);
  await client.writeRegister(2700, 1500);
  await waitFor(() => said.includes('written holding 2700: 1500\n') || undefined);
  expect((await client.readHoldingRegisters(2700, 1)).data).toEqual([1500]);
});

test.runIf(existsSync(mosquitto) || process.env['REQUIRE_MOSQUITTO'] === '1')(
  '[points §3.2] mosquitto: values, commands, birth and will, with a password',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'setpoint-mosquitto-'));
    afterThisTest(() => rmSync(folder, { recursive: true, force: true }));
    const port = await ownPort();
    const passwords = join(folder, 'passwords');
    execFileSync('mosquitto_passwd', ['-b', '-c', passwords, 'plant', 'secret'], { stdio: 'ignore' });
    const settings = [
      `listener ${port} 127.0.0.1`,
      `password_file ${passwords}`,
      `user ${process.env['USER'] ?? 'root'}`,
    ];
    writeFileSync(join(folder, 'mosquitto.conf'), `${settings.join('\n')}\n`);
    const broker = spawn(mosquitto, ['-c', join(folder, 'mosquitto.conf')], { stdio: 'ignore' });
    afterThisTest(() => broker.kill());
    const access = ['-h', '127.0.0.1', '-p', String(port), '-u', 'plant', '-P', 'secret'];
    const publish = (topic: string, payload: string): void =>
      void execFileSync('mosquitto_pub', [...access, '-q', '1', '-t', topic, '-m', payload]);
    const service = await start(
      folders(`schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
  - { id: broker, driver: mqtt, url: "mqtt://127.0.0.1:${port}", username_env: SVC_MQTT_USERNAME, password_env: SVC_MQTT_PASSWORD, status: { topic: s/status } }
instances:
  - id: 1
    name: one
    points:
      - { id: 1, name: power, kind: measurement, unit: kW, channel: broker, address: { topic: s/meter, path: $.kw } }
      - { id: 1, name: command, kind: action, unit: kW, min: 0, max: 100, channel: broker, address: { topic: s/command } }
`),
      { SVC_MQTT_USERNAME: 'plant', SVC_MQTT_PASSWORD: 'secret' },
    );
    await waitFor(async () => (await service.read('/channels')).text.includes('"state":"online"') || undefined);
    let heard = '';
    const listener = spawn('mosquitto_sub', [...access, '-v', '-t', 's/#'], { stdio: ['ignore', 'pipe', 'inherit'] });
    afterThisTest(() => listener.kill());
    listener.stdout.on('data', (chunk: Buffer) => (heard += chunk.toString()));
    await waitFor(() => heard.includes('s/status online\n') || undefined);
    publish('s/meter', '{"kw":4.25}');
    await waitFor(async () => (await pointsOf(service))['power'] === 4.25 || undefined);
    await hold(service, 7.5);
    await waitFor(() => heard.includes('s/command 7.5\n') || undefined);
    // Killed, so that the broker publishes the will.
    await service.stop('SIGKILL');
    await waitFor(() => heard.includes('s/status offline\n') || undefined);
  },
);
