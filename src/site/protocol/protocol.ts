/**
 * The grammar of a protocol in site.yaml [points §1]: a channel's settings and its points' addresses. The driver itself is in
 * `devices/driver/`: it runs in a thread that loads no schemas.
 */
import Type from 'typebox';
import type { Decoded } from '../../base/decode.ts';
import type { PointKind } from '../catalogue.ts';
import type { SunSpecModel } from '../sunspec/model.ts';
import type { RawRange } from './modbus-raw.ts';

/** Reports an error in a member of a point, or of a channel. */
type AddressFault = (field: string, message: string) => void;

/** Definitions for protocols in the files next to site.yaml. */
export interface ProtocolFiles {
  /** The SunSpec models that the site defines. */
  readonly sunSpecModels: readonly SunSpecModel[];
}

export interface Protocol<Channel extends { readonly driver: string }, Address> {
  settings(value: unknown): Decoded<Channel>;
  checkSettings?(channel: Channel, fault: AddressFault): void;
  /** The channel with its definitions from files. */
  withFiles?(channel: Channel, files: ProtocolFiles): Channel;
  /** Null if points of the channel have no address. */
  readonly address: ((value: unknown) => Decoded<Address>) | null;
  /** Channel settings that an address may override, for one of several devices on the channel. */
  readonly addressSettings?: readonly string[];
  /** False for an address that cannot have the setting. */
  takesSetting?(name: string, address: Readonly<Record<string, unknown>>): boolean;
  /** Time between two polls; absent if values are not polled. A point may have a `poll_interval_ms` of its own in place of it. */
  pollIntervalMs?(channel: Channel): number;
  /** True if the driver keeps what it exchanges with devices, for the trace of the channel. */
  readonly traced?: true;
  /** Default maximum age of a reading [points §2]. */
  defaultMaxAgeMs(channel: Channel, pollIntervalMs?: number): number;
  checkAddress?(address: Address, kind: PointKind, fault: AddressFault, channel: Channel): void;
  /** The raw values that the address can hold; undefined if it can hold every number. */
  rawRange?(address: Address): RawRange | undefined;
  /**
   * The factor from the device's number to `unit`, if the protocol defines the device's unit; undefined if the two have
   * different dimensions.
   */
  unitScale?(address: Address, unit: string, channel: Channel): number | undefined;
  /** The places in the device that a command to this address writes: equal text means equal place, on any channel. */
  places?(address: Address, channel: Channel): readonly string[];
  /** True if the address refers to text. */
  hasNoNumber?(address: Address, channel: Channel): boolean;
}

export const identifier = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$',
  description: '1 to 128 letters, digits and . _ : -, the first a letter or digit',
});
export const milliseconds = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
