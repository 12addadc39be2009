/**
 * Detects that a reachable device refuses its requests [points §5]: every read, or every command, for
 * `refusing_after_ms`. Such a channel is online, but commands have no effect.
 */

export interface Refusals {
  /** Takes one answer and returns whether the device refuses now. */
  answered(what: 'read' | 'write', refused: boolean, nowMs: number): boolean;
}

export function watchRefusals(refusingAfterMs: number): Refusals {
  /** Time of the first refusal of each kind since its last success, and whether it has lasted long enough. */
  const since: { read?: number; write?: number } = {};
  const refusing = { read: false, write: false };
  return {
    answered(what, refused, nowMs) {
      if (refused) since[what] ??= nowMs;
      else delete since[what];
      const firstMs = since[what];
      refusing[what] = firstMs !== undefined && nowMs - firstMs >= refusingAfterMs;
      return refusing.read || refusing.write;
    },
  };
}
