/** The driver interface: one driver per channel reads points into the live table and carries out commands. */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { TakenCommand } from '../points/command-slots.ts';
import type { QualityCode } from '../site/quality.ts';
import type { SitePoint } from '../site/site.ts';
import type { DeviceLimits } from './limits.ts';

/** A value as the device has it, before scale and offset. */
export interface RawReading {
  readonly index: number;
  readonly raw: number;
  readonly quality: QualityCode;
  /** A power of ten that the device itself gives: the value is raw × 10^exponent; 0 when absent. */
  readonly exponent?: number;
  /** Of a point that holds text: as a number it is bad. */
  readonly text?: string;
}

/** One request and its answer, for commissioning. */
export interface DeviceExchange {
  /** Wall milliseconds of the answer, and how long it took. */
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
  /** Registers, or bits, that answered, and what they held. */
  readonly registers: readonly {
    readonly unit: number;
    readonly table: string;
    readonly register: number;
    readonly words: readonly number[];
  }[];
  /** Of a device that describes itself. */
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

/** Why a device did not do what it was asked: the exception of the device, or what happened to the connection. */
export interface DriverFailure {
  /** `ignored`: a message came and does not count; that is over with the next one that does. */
  readonly code: 'refused' | 'no-answer' | 'not-encodable' | 'unreadable' | 'ignored';
  readonly message: string;
}

/** The services of the device layer for the driver of one channel. */
export interface DriverContext {
  /** The channel's points. */
  readonly points: readonly SitePoint[];
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: DeviceLimits;
  /** What was read at one moment; scaled and published together. */
  publish(readings: readonly RawReading[]): void;
  /** These points could not be read: they are bad, and have this as their last error. */
  readFailed(indexes: readonly number[], failure: DriverFailure): void;
  /** The connection is gone: all points are bad until they are read again. */
  forget(): void;
  /** Says whether commands can be taken now; offline channels refuse them at the slot. */
  setOnline(online: boolean): void;
  /** The next command for this channel, raw, or null. Asked for only when it can be sent at once: nothing is queued. */
  nextCommand(): TakenCommand | null;
  /** How a taken command ended: confirmed by the device, or not. */
  commandDone(command: TakenCommand, failure: DriverFailure | null): void;
  /** For `channels trace`. */
  exchanged(exchange: DeviceExchange): void;
  /** The device answered a request, with success or with an exception. */
  answered(what: 'read' | 'write', refused: boolean): void;
}

export interface Driver {
  start(): void;
  /** A command may be waiting. */
  wake(): void;
  /** Reads what a device has, beside the polls; null when the connection ended. Absent where a driver cannot look. */
  scan?(question: ScanQuestion): Promise<ScanAnswer | null>;
  stop(): Promise<void>;
}
