/**
 * SunSpec information models as data [points §3.4]: the points of a model, in the order of its registers. Source: SunSpec
 * Device Information Model Specification and the information models of the SunSpec Alliance (Apache-2.0; see NOTICE).
 */

export type SunSpecType =
  | 'int16'
  | 'uint16'
  | 'acc16'
  | 'enum16'
  | 'bitfield16'
  | 'int32'
  | 'uint32'
  | 'acc32'
  | 'bitfield32'
  | 'int64'
  | 'uint64'
  | 'acc64'
  | 'float32'
  | 'float64'
  | 'sunssf'
  | 'string'
  /** Registers that are not used. */
  | 'pad';

export interface SunSpecPoint {
  readonly name: string;
  readonly type: SunSpecType;
  /** Number of registers. */
  readonly length: number;
  /** Register offset from the start of its group; in the model, from the first one after its length. */
  readonly offset: number;
  /** Its power of ten: the name of the scale factor point, or the number itself. */
  readonly scale: string | number | undefined;
  /** Empty without a unit. */
  readonly unit: string;
  readonly writable: boolean;
}

/** Points that repeat as a block. Nested groups follow the points of their group. */
export interface SunSpecGroup {
  readonly name: string;
  /** A number, the name of the count point of the model, or null: as many as fit into the length of the model. */
  readonly count: number | string | null;
  readonly points: readonly SunSpecPoint[];
  readonly groups: readonly SunSpecGroup[];
}

export interface SunSpecModel {
  readonly model: number;
  readonly name: string;
  readonly points: readonly SunSpecPoint[];
  readonly groups: readonly SunSpecGroup[];
}

const lengths: Readonly<Record<Exclude<SunSpecType, 'string' | 'pad'>, number>> = {
  int16: 1,
  uint16: 1,
  acc16: 1,
  enum16: 1,
  bitfield16: 1,
  sunssf: 1,
  int32: 2,
  uint32: 2,
  acc32: 2,
  bitfield32: 2,
  float32: 2,
  int64: 4,
  uint64: 4,
  acc64: 4,
  float64: 4,
};

/** Number of registers of a type; undefined if it depends on the point. */
export function lengthOfType(type: SunSpecType): number | undefined {
  return type === 'string' || type === 'pad' ? undefined : lengths[type];
}

/**
 * Points as text, one or more names with the same type, unit and scale per line: `A AphA: uint16 A A_SF`. `string16` and
 * `pad3` include their length; `rw` at the end marks writable points; `-` means no unit.
 */
export function defineModel(model: number, name: string, fixed: string, repeated?: string): SunSpecModel {
  const groups =
    repeated === undefined ? [] : [{ name: 'repeated', count: null, points: pointsOf(repeated), groups: [] }];
  return { model, name, points: pointsOf(fixed), groups };
}

function pointsOf(text: string): SunSpecPoint[] {
  const points: SunSpecPoint[] = [];
  let offset = 0;
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const [names = '', facts = ''] = line.split(':');
    const [typeText = '', unit = '-', ...more] = facts.trim().split(/\s+/);
    const [, word = '', digits = ''] = /^(string|pad|[a-z]+(?:16|32|64)?)(\d*)$/.exec(typeText) ?? [];
    const type = word as SunSpecType;
    const length = lengthOfType(type) ?? Number(digits === '' ? 1 : digits);
    for (const name of names.trim().split(/\s+/)) {
      points.push({
        name,
        type,
        length,
        offset,
        scale: more.find((each) => each !== 'rw'),
        unit: unit === '-' ? '' : unit,
        writable: more.includes('rw'),
      });
      offset += length;
    }
  }
  return points;
}

/** The raw value for "not implemented"; undefined if the type has none. */
export function absentValue(type: SunSpecType): number | undefined {
  return absentValues[type];
}

const absentValues: Partial<Record<SunSpecType, number>> = {
  int16: -32_768,
  uint16: 65_535,
  acc16: 0,
  enum16: 65_535,
  bitfield16: 65_535,
  int32: -2_147_483_648,
  uint32: 4_294_967_295,
  acc32: 0,
  bitfield32: 4_294_967_295,
  int64: -(2 ** 63),
  uint64: Number(0xffff_ffff_ffff_ffffn),
  acc64: 0,
  float32: Number.NaN,
  float64: Number.NaN,
};
