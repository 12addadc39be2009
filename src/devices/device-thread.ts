/** Entry of the device worker: the device core behind the thread protocol. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { createLog, type LogLevel } from '../base/log.ts';
import { answerCalls } from '../base/thread.ts';
import { type DeviceSetup, startDeviceCore } from './device-core.ts';
import type { DeviceMethods } from './device-protocol.ts';

const port = parentPort;
if (port === null) throw new Error('the device thread is started by the device layer');
const { setup, logLevel } = workerData as { setup: DeviceSetup; logLevel: LogLevel };
const core = startDeviceCore(setup, systemClock, createLog(logLevel, { thread: 'devices' }));
answerCalls<DeviceMethods>(port, {
  counts: () => core.counts(),
  stop: async () => {
    await core.stop();
    return null;
  },
});
