/** The data cut of a run [data-processing §5.1]: a whole multiple of the cadence since the epoch, not in the future. */

/** The newest cut whose last bucket has had time to be recorded. */
export function latestCut(cadenceMs: number, now: number): string {
  const settleMs = Math.min(30_000, cadenceMs / 2);
  return wireTime(Math.floor((now - settleMs) / cadenceMs) * cadenceMs);
}

/** The cut in wire form; null for an invalid text. */
export function cutOf(text: string, cadenceMs: number, now: number): string | null {
  const match = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2})?Z?$/.exec(text.trim());
  if (match === null) return null;
  const wire = `${match[1]}T${match[2]}${match[3] ?? ':00'}Z`;
  const ms = Date.parse(wire);
  // An invalid date would be read as another one.
  const isReal = Number.isFinite(ms) && wireTime(ms) === wire;
  return isReal && ms <= now && ms % cadenceMs === 0 ? wire : null;
}

/** Without a fraction when that is zero. */
function wireTime(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** Ascending probabilities between 0 and 1 from a text such as "0.1, 0.5, 0.9"; null if invalid, empty without any. */
export function quantilesOf(text: string, max: number): number[] | null {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== '');
  const values = parts.map(Number);
  const rises = values.every((value, at) => value > 0 && value < 1 && value > (values[at - 1] ?? 0));
  return rises && values.length <= max ? values : null;
}
