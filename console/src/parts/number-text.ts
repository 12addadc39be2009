/** Numbers as text: parsing, ranges, and steps. */
import { locale } from '../strings/language.ts';

export interface NumberRange {
  readonly integer?: boolean;
  readonly min?: number;
  readonly max?: number;
}

/** Whether numbers are shown with a decimal comma: not a question of the language, as in `en-NL` and `de-CH`. */
export function hasDecimalComma(tag: string): boolean {
  return new Intl.NumberFormat(tag).format(0.5).includes(',');
}

const shownWithComma = hasDecimalComma(locale);

/**
 * Null for a text that is not a number. Where numbers have a decimal comma, a decimal point works too, unless it may group thousands:
 * 1.500 could mean 1500, and a setpoint must not become a thousandth of it.
 */
export function typedNumber(text: string, decimalComma = shownWithComma): number | null {
  const written = text.trim();
  if (mayBeGrouped(written, decimalComma)) return null;
  const given = decimalComma ? written.replace(/^([^.,]*),([^.,]*)$/, '$1.$2') : written;
  if (!/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i.test(given)) return null;
  const value = Number(given);
  return Number.isFinite(value) ? value : null;
}

/** Whether the decimal point of a text may group thousands instead. */
function mayBeGrouped(text: string, decimalComma: boolean): boolean {
  return decimalComma && /^[+-]?[0-9]{1,3}([.][0-9]{3})+$/.test(text);
}

export interface Meanings {
  readonly whole: string;
  /** Null if there are several groups. */
  readonly fraction: string | null;
}

/** What a text that was refused for its decimal point may mean: 1.500 is 1500 or 1,500. Null for any other text. */
export function meaningsOf(text: string, decimalComma = shownWithComma): Meanings | null {
  const written = text.trim();
  if (!mayBeGrouped(written, decimalComma)) return null;
  const whole = written.replaceAll('.', '');
  const isOneGroup = written.indexOf('.') === written.lastIndexOf('.');
  return { whole, fraction: isOneGroup ? written.replace('.', ',') : null };
}

/** All digits of a value, so that `typedNumber` reads the same value. */
export function writtenNumber(value: number, decimalComma = shownWithComma): string {
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
