/** The driver interface: one driver per channel reads points into the live table and carries out commands. */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Validity } from '../base/validity.ts';
import type { TakenCommand } from '../points/command-slots.ts';
import type { QualityCode } from '../site/quality.ts';
import type { SitePoint } from '../site/site.ts';
import type { DeviceLimits } from './limits.ts';

/** The device's value, before scale and offset. */
export interface RawReading {
  readonly index: number;
  readonly raw: number;
  readonly quality: QualityCode;
  /** A power of ten from the device itself: the value is raw × 10^exponent; 0 if absent. */
  readonly exponent?: number;
  /** For a point that holds text; as a number it is bad. */
  readonly text?: string;
}

/** One request and its answer, for commissioning. */
export interface DeviceExchange {
  /** Wall milliseconds of the answer, and its duration. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly request: string;
  /** The device's answer, or why there was none. */
  readonly answer: string;
  readonly result: 'answered' | 'refused' | 'no-answer';
}

/** The scope of a scan; the driver chooses absent members. */
export interface ScanQuestion {
  readonly unit?: number;
  readonly table?: 'holding' | 'input' | 'coil' | 'discrete';
  readonly from?: number;
  readonly count?: number;
}

export interface ScanAnswer {
  /** Registers, or bits, that answered, and their values. */
  readonly registers: readonly {
    readonly unit: number;
    readonly table: string;
    readonly register: number;
    readonly words: readonly number[];
  }[];
  /** For a device that describes itself. */
  readonly models: readonly {
    readonly model: number;
    readonly name: string | null;
    readonly register: number;
    readonly length: number;
    readonly points: readonly {
      readonly point: string;
      readonly unit: string;
      readonly value: number | string | null;
    }[];
  }[];
}

/** The reason of a failed request: the exception of the device, or the state of the connection. */
export interface DriverFailure {
  /** `ignored`: a message arrived and was not used; cleared by the next usable one. */
  readonly code: 'refused' | 'no-answer' | 'not-encodable' | 'unreadable' | 'ignored';
  readonly message: string;
}

/** Why an actuator that is not read has no value. */
export const uncommanded = 'connected again, and not commanded since';

/** The services of the device layer for the driver of one channel. */
export interface DriverContext {
  /** The channel's points. */
  readonly points: readonly SitePoint[];
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: DeviceLimits;
  /** Values read at one moment; scaled and published together. */
  publish(readings: readonly RawReading[]): void;
  /** These points could not be read: they are bad, and have this as their last error. */
  readFailed(indexes: readonly number[], failure: DriverFailure): void;
  /** The connection is lost: all points are bad until they are read again. */
  forget(): void;
  /** Another connection replaces one that the device closed: it may have restarted, and have any value. */
  reconnected(): void;
  /** Reports whether commands can be sent now; offline channels reject them. */
  setOnline(online: boolean): void;
  /** The device showed a certificate. */
  certified(validity: Validity): void;
  /** The next command for this channel, raw, or null. Called only when it can be sent at once: nothing is queued. */
  nextCommand(): TakenCommand | null;
  /** The result of a command that was sent: confirmed by the device, or not. */
  commandDone(command: TakenCommand, failure: DriverFailure | null): void;
  /** For `channels trace`. */
  exchanged(exchange: DeviceExchange): void;
  /** A poll was left out: the one before it had not ended. */
  late(): void;
  /** The device answered a request, with success or with an exception. */
  answered(what: 'read' | 'write', refused: boolean): void;
}

export interface Driver {
  start(): void;
  /** A command may be waiting. */
  wake(): void;
  /**
   * Scans a device, between the polls; null without a connection. Throws a Fault that says why a scan ended early. Absent if a driver
   * cannot scan.
   */
  scan?(question: ScanQuestion): Promise<ScanAnswer | null>;
  stop(): Promise<void>;
}
