/** Converts between API times in UTC and the text of a date and time field in the browser's time zone. */

/** `2026-07-11T12:00:00`, to the second; empty if `wire` is not a date and time. */
export function localTimeOf(wire: string): string {
  const at = new Date(wire);
  if (Number.isNaN(at.getTime())) return '';
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Milliseconds since the epoch; null if the text is not a date and time. */
export function msOfLocal(local: string): number | null {
  const ms = new Date(local).getTime();
  return Number.isNaN(ms) ? null : ms;
}

/** RFC 3339 in UTC; null if the text is not a date and time. */
export function utcOf(local: string): string | null {
  const ms = msOfLocal(local);
  return ms === null ? null : new Date(ms).toISOString();
}
