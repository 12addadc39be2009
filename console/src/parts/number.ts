/** Number formats: a limited number of digits, and a dash for a missing value. */
import { durationText } from '../../../src/rules/teller.ts';
import { t } from '../strings/index.ts';
import { locale } from '../strings/language.ts';

const digits = 6;
// Without group separators, so that a copied number can be pasted into a field.
const whole = new Intl.NumberFormat(locale, { useGrouping: false });
const short = new Intl.NumberFormat(locale, { useGrouping: false, maximumSignificantDigits: digits });

/** The value in at most six significant digits; `–` for a missing one. */
export function shownNumber(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1e15 || (value !== 0 && Math.abs(value) < 1e-6))
    return String(Number(value.toPrecision(digits)));
  return (Number.isInteger(value) ? whole : short).format(value);
}

/** With its unit; the unit "1" is not shown. */
export function withUnit(value: number | null | undefined, unit: string | null | undefined): string {
  const text = shownNumber(value);
  return unit === null || unit === undefined || unit === '' || unit === '1' || text === '–' ? text : `${text} ${unit}`;
}

/** A share of 0 to 1 in percent, rounded down to two decimals: never 100 % if anything is missing. */
export function shownShare(share: number): string {
  // Without rounding, 0.57 would be 56.99 %.
  return `${shownNumber(Math.floor(Number((share * 10_000).toFixed(6))) / 100)} %`;
}

/** A duration given in milliseconds. */
export const shownDuration = (ms: number): string => durationText(ms, shownNumber, t.common.days);
