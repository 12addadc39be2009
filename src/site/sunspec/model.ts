/**
 * SunSpec information models as data [points §3.4]: which points a model has, in the order of its registers. Source: SunSpec
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
  | 'uint64'
  | 'float32'
  | 'sunssf'
  | 'string'
  /** Registers whose meaning nobody needs here. */
  | 'pad';

export interface SunSpecPoint {
  readonly name: string;
  readonly type: SunSpecType;
  /** Registers that it takes. */
  readonly length: number;
  /** Registers from the first one behind the model's length. */
  readonly offset: number;
  /** The point with its power of ten. */
  readonly scale: string | undefined;
  /** Empty where it has none. */
  readonly unit: string;
  readonly writable: boolean;
}

export interface SunSpecModel {
  readonly model: number;
  readonly name: string;
  readonly points: readonly SunSpecPoint[];
  /** Of a model whose last part repeats: those points, with offsets from the start of each repetition. */
  readonly repeated: readonly SunSpecPoint[];
  /** Registers before the first repetition, and of each. */
  readonly fixedLength: number;
  readonly repeatedLength: number;
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
  uint64: 4,
};

/**
 * Points as text, one or more names with the same type, unit and scale on a line: `A AphA: uint16 A A_SF`. `string16` and
 * `pad3` carry their length; `rw` at the end marks what may be written; `-` stands for no unit.
 */
export function defineModel(model: number, name: string, fixed: string, repeated = ''): SunSpecModel {
  const points = pointsOf(fixed);
  const repeatedPoints = pointsOf(repeated);
  return {
    model,
    name,
    points,
    repeated: repeatedPoints,
    fixedLength: lengthOf(points),
    repeatedLength: lengthOf(repeatedPoints),
  };
}

function lengthOf(points: readonly SunSpecPoint[]): number {
  const last = points.at(-1);
  return last === undefined ? 0 : last.offset + last.length;
}

function pointsOf(text: string): SunSpecPoint[] {
  const points: SunSpecPoint[] = [];
  let offset = 0;
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const [names = '', facts = ''] = line.split(':');
    const [typeText = '', unit = '-', ...more] = facts.trim().split(/\s+/);
    const [, word = '', digits = ''] = /^(string|pad|[a-z]+(?:16|32|64)?)(\d*)$/.exec(typeText) ?? [];
    const type = word as SunSpecType;
    const length = type === 'string' || type === 'pad' ? Number(digits === '' ? 1 : digits) : lengths[type];
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

/** The raw value that says "not implemented"; undefined where a type has none. */
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
  uint64: Number(0xffff_ffff_ffff_ffffn),
  float32: Number.NaN,
};
