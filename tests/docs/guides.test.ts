/** Every block of the README, of the guides and of other pages that a reader would type from runs, or says that it is output. */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { startModbusDevice } from '../../src/testing/modbus-server.ts';
import { startMqttBroker } from '../../src/testing/mqtt-broker.ts';
import { ownPort } from '../../src/testing/own-port.ts';
import { type DemoPast, recordDemoPast } from './demo-past.ts';
import { runGuide } from './guide-run.ts';

const guideDeadlineMs = 300_000;
/** The reference is about the language and has its own test. */
const elsewhere = ['rule-reference.md'];

const runs: Readonly<Record<string, (file: string) => Promise<void>>> = {
  'README.md': (file) => runGuide(file, { npm: 'real at first' }),
  'docs/guides/connect-a-device.md': async (file) => runGuide(file, { ports: { '1502': await ownPort() } }),
  'docs/guides/connect-modbus.md': async (file) => {
    const device = await startModbusDevice();
    device.input.writeInt32BE(12_500, 200);
    device.input.writeUInt16BE(805, 400);
    try {
      await runGuide(file, { ports: { '1502': device.port } });
      expect(device.holding.readInt16BE(600)).toBe(125);
    } finally {
      await device.stop();
    }
  },
  'docs/guides/connect-mqtt.md': async (file) => {
    const broker = await startMqttBroker();
    const meter = new AbortController();
    const measuring = (async () => {
      while (!meter.signal.aborted) {
        await broker.publish('bakery/meter', '{"power": {"active_w": 15500}}');
        await new Promise((resolve) => void systemClock.after(100, () => resolve(null)));
      }
    })();
    try {
      await runGuide(file, { ports: { '1883': broker.port } });
      expect(broker.messages).toContainEqual(
        expect.objectContaining({ topic: 'bakery/heater/setpoint', payload: '4.5' }),
      );
    } finally {
      meter.abort();
      await measuring;
      await broker.stop();
    }
  },
};

const files = [
  'README.md',
  'docs/forecaster.md',
  'docs/processor-contract/README.md',
  ...readdirSync('docs/guides')
    .filter((name) => name.endsWith('.md') && !elsewhere.includes(name))
    .map((name) => `docs/guides/${name}`),
];

let past: DemoPast;
beforeAll(async () => {
  past = await recordDemoPast();
});
afterAll(() => past?.remove());

// Each has its own copy, ports and shell.
test.concurrent.each(files)(
  '%s',
  async (file) => {
    await (runs[file] ?? ((name) => runGuide(name, { past })))(file);
  },
  guideDeadlineMs,
);
