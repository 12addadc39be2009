/** What the main thread and the device thread say to each other; values and commands go through shared memory instead. */
import type { ChannelTraffic, PointError } from './device-core.ts';

export type DeviceMethods = {
  /** Begins to read the devices, where that has not begun. */
  readonly connect: (argument: null) => null;
  readonly traffic: (argument: null) => readonly ChannelTraffic[];
  readonly errors: (argument: null) => readonly PointError[];
  readonly stop: (argument: null) => null;
};
