/** Moments as the contracts write them: `YYYY-MM-DDTHH:MM:SS.mmmZ`; on the way in the milliseconds may be left out. */

const pattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$/;

/** Milliseconds since the epoch, or null when the text is not a real moment from 1970 on. */
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
