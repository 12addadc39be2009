/** Entry of the device worker: the device core behind the thread protocol. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { isolateWork } from '../base/isolation.ts';
import { createLog, type LogLevel } from '../base/log.ts';
import { answerCalls } from '../base/thread.ts';
import { trimHeapLater } from '../base/trim-heap.ts';
import { type DeviceSetup, idleDeviceCore } from './device-core.ts';
import type { DeviceMethods } from './device-protocol.ts';

const port = parentPort;
if (port === null) throw new Error('the device thread is started by the device layer');
trimHeapLater();
const { setup, connects, logLevel } = workerData as { setup: DeviceSetup; connects: boolean; logLevel: LogLevel };
const log = createLog(logLevel, { thread: 'devices' });
// A fault of one channel never affects another [points §3]; one outside all channels ends the thread.
const isolated = isolateWork<number>((serial, error) => core.failed(serial, error));
const core = idleDeviceCore(setup, systemClock, log, isolated);
if (connects) core.connect();
answerCalls<DeviceMethods>(
  port,
  {
    connect() {
      core.connect();
      return null;
    },
    traffic: () => core.traffic(),
    errors: () => core.errors(),
    texts: () => core.texts(),
    trace: ({ channel }) => core.trace(channel),
    scan: ({ channel, question }) => core.scan(channel, question),
    adopt: async ({ site, materials }) => {
      await core.adopt(site, materials);
      return null;
    },
    stop: async () => {
      await core.stop();
      return null;
    },
  },
  {
    questions: ['traffic', 'errors', 'texts', 'trace', 'scan'],
    onError: (method, error) => log.error('device layer query failed', { method, error: String(error) }),
  },
);
