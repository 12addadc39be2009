/** The messages between the main thread and the device thread; values and commands go through shared memory instead. */
import type { Site } from '../site/site.ts';
import type { ChannelTraffic, PointError, PointText } from './device-channel.ts';
import type { DriverMaterials } from './driver/index.ts';
import type { ScanAnswer, ScanQuestion } from './driver.ts';
import type { ChannelTrace } from './trace.ts';

export type DeviceMethods = {
  /** Starts to read the devices, if that has not started. */
  readonly connect: (argument: null) => null;
  readonly traffic: (argument: null) => readonly ChannelTraffic[];
  readonly errors: (argument: null) => readonly PointError[];
  readonly texts: (argument: null) => readonly PointText[];
  readonly trace: (argument: { readonly channel: number }) => ChannelTrace | null;
  readonly scan: (argument: {
    readonly channel: number;
    readonly question: ScanQuestion;
  }) => ScanAnswer | null | undefined;
  /** Continues with a changed site. */
  readonly adopt: (argument: { readonly site: Site; readonly materials: DriverMaterials }) => null;
  readonly stop: (argument: null) => null;
};
