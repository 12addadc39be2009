/** Timestamps in the contracts' format, `YYYY-MM-DDTHH:MM:SS.mmmZ`; in input the milliseconds are optional. */

const pattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$/;

/** Milliseconds since the epoch, or null if the text is not a valid time from 1970 on. */
export function instantMs(text: string): number | null {
  if (!pattern.test(text)) return null;
  const ms = Date.parse(text);
  if (!Number.isFinite(ms) || ms < 0) return null;
  // The round trip refuses days and hours that Date rolls over, such as 30 February and 24:00.
  return instant(ms).slice(0, 19) === text.slice(0, 19) ? ms : null;
}

/** The canonical text. */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}

export function isCanonicalInstant(text: string): boolean {
  const ms = instantMs(text);
  return ms !== null && instant(ms) === text;
}
