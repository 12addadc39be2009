/**
 * The values in the answers to reads [points §3.1]: numbers, bits and texts of the registers of a block, and the scale registers
 * that other values need. A value whose scale is unknown is left out.
 */
import { quality } from '../../site/quality.ts';
import type { RawReading } from '../driver.ts';
import { decodeRegisters, decodeText, exponentOf } from './modbus-codec.ts';
import { bitAt } from './modbus-frame.ts';
import type { PollBlock } from './poll-plan.ts';
import { isBits, type RegisterPlace } from './register-place.ts';

interface BlockValues {
  readonly readings: readonly RawReading[];
  /** Points without a value, with the reason. */
  readonly unscaled: ReadonlyMap<number, string>;
}

export class BlockReadings {
  /** By unit, table and register: values of scale registers. They are read before the values that they scale; null: refused or invalid. */
  readonly #exponents = new Map<string, number | null>();

  decode(block: PollBlock, bytes: Buffer): BlockValues {
    const part = ({ register, encoding }: RegisterPlace): Buffer =>
      bytes.subarray((register - block.start) * 2, (register - block.start + encoding.length) * 2);
    for (const { index, place } of block.items)
      if (index === undefined) this.#exponents.set(scaleKey(place, place.register), exponentOf(part(place)));
    const unscaled = new Map<number, string>();
    const readings = block.items.flatMap(({ index, place }): RawReading[] => {
      if (index === undefined) return [];
      if (isBits(place.table))
        return [reading(index, Number(bitAt(bytes, place.register - block.start) ?? Number.NaN))];
      if (place.encoding.type === 'string')
        return [{ index, raw: Number.NaN, quality: quality.bad, text: decodeText(part(place), place.encoding) }];
      const scaled = this.#scaled(index, place, decodeRegisters(part(place), place.encoding));
      if (scaled !== null) return [scaled];
      unscaled.set(index, `scale register ${place.scaleFrom} was not read, or is outside -10..10`);
      return [];
    });
    return { readings, unscaled };
  }

  /** Its scale registers have no value. */
  refused(block: PollBlock): void {
    for (const { index, place } of block.items)
      if (index === undefined) this.#exponents.set(scaleKey(place, place.register), null);
  }

  /** The power of ten of a value: null if its register is invalid, undefined before it was read. */
  scaleOf(place: RegisterPlace): number | null | undefined {
    const { scaleFrom, exponent = 0 } = place;
    return scaleFrom === undefined ? exponent : this.#exponents.get(scaleKey(place, scaleFrom));
  }

  clear(): void {
    this.#exponents.clear();
  }

  /** Null if its scale is unknown. */
  #scaled(index: number, place: RegisterPlace, raw: number): RawReading | null {
    if (Object.is(raw, place.absent)) return { index, raw: Number.NaN, quality: quality.invalid };
    const exponent = this.scaleOf(place);
    if (exponent === null || exponent === undefined) return null;
    return exponent === 0 ? reading(index, raw) : { ...reading(index, raw), exponent };
  }
}

function scaleKey({ unit, table }: RegisterPlace, register: number): string {
  return `${unit} ${table} ${register}`;
}

function reading(index: number, raw: number): RawReading {
  return { index, raw, quality: Number.isFinite(raw) ? quality.good : quality.bad };
}
