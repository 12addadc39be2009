/**
 * The rules' view of a site: its points by reference and its parameters by name. `site/site-catalogue.ts` builds one from
 * site.yaml; the console builds one from `GET /api/instances`.
 */

export type PointKind = 'measurement' | 'action';

/** The wire form of a point reference [rules §3.1]. (instance, point_type, point) names exactly one point. */
export interface PointRef {
  readonly instance: number;
  readonly point_type: PointKind;
  readonly point: number;
}

/** Only the reference, of something that has more. */
export function pointRefOf({ instance, point_type, point }: PointRef): PointRef {
  return { instance, point_type, point };
}

/** The range of a written point's register: raw = (value - offset) / scale. */
export interface RegisterFacts {
  readonly scale: number;
  readonly offset: number;
  /** True for integers and bits, false for single-precision floats. */
  readonly whole: boolean;
  /** Bounds of the raw value. */
  readonly low: number;
  readonly high: number;
}

export interface PointFacts extends PointRef {
  /** Position in the live table: 0 .. number of points - 1. */
  readonly index: number;
  readonly name: string;
  readonly unit: string;
  /** True if the point holds text: it has no number, so rules cannot use it [points §3.1]. */
  readonly isText: boolean;
  /** Bounds and step of a written value, in the point's unit; bounds within what its register can hold. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly step: number | undefined;
  /** Undefined if any number can be written: on channels without registers, and in double precision. */
  readonly register: RegisterFacts | undefined;
  /** True for action points and for measurement points of a `virtual` channel. */
  readonly writable: boolean;
  /** A reading older than this is unavailable. */
  readonly maxAgeMs: number;
  readonly maxWritesPerMinute: number | undefined;
  /** How long a write is protected from lower priorities; 0: only within its cycle. */
  readonly priorityHoldMs: number;
  /** Time without commands after which the device layer writes the safe value; undefined without a safe value. */
  readonly holdMaxMs: number | undefined;
  /** The safe value. */
  readonly safeValue: number | undefined;
}

export interface Parameter {
  readonly value: number;
  readonly unit: string | undefined;
  /** Bounds of a value that is set at run time. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** The value of the site file, if another one is in force. */
  readonly fileValue?: number;
}

export interface SiteCatalogue {
  /** IANA zone of the site. */
  readonly timezone: string;
  /** All points, by `index`. */
  readonly points: readonly PointFacts[];
  point(ref: PointRef): PointFacts | undefined;
  parameter(name: string): Parameter | undefined;
}
