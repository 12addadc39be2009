/** Numbers as text: parsing, ranges, and steps. */
import { language } from '../strings/language.ts';

export interface NumberRange {
  readonly integer?: boolean;
  readonly min?: number;
  readonly max?: number;
}

/**
 * Null for a text that is not a number. In languages with a decimal comma a decimal point works too, unless it may group thousands:
 * 1.500 could mean 1500, and a setpoint must not become a thousandth of it.
 */
export function typedNumber(text: string, decimalComma = language === 'de'): number | null {
  const written = text.trim();
  if (decimalComma && /^[+-]?[0-9]{1,3}([.][0-9]{3})+$/.test(written)) return null;
  const given = decimalComma ? written.replace(/^([^.,]*),([^.,]*)$/, '$1.$2') : written;
  if (!/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i.test(given)) return null;
  const value = Number(given);
  return Number.isFinite(value) ? value : null;
}

/** All digits of a value, so that `typedNumber` reads the same value. */
export function writtenNumber(value: number, decimalComma = language === 'de'): string {
  return decimalComma ? String(value).replace('.', ',') : String(value);
}

export function isWithin(value: number, { integer = false, min, max }: NumberRange): boolean {
  return (
    (!integer || Number.isInteger(value)) && (min === undefined || value >= min) && (max === undefined || value <= max)
  );
}

/** One step up or down, rounded to avoid floating-point noise: 0.1 + 0.2 is 0.3 here. */
export function stepped(value: number | null, by: number, { min = -Infinity, max = Infinity }: NumberRange): number {
  const next = Number(((value ?? 0) + by).toPrecision(12));
  return Math.min(max, Math.max(min, next));
}
