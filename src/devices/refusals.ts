/**
 * When a device that answers refuses what it is asked [points §5]: every read, or every command, for
 * `refusing_after_ms`. Such a channel is online, and yet nothing that is commanded happens.
 */

export interface Refusals {
  /** Takes one answer and says whether the device refuses now. */
  answered(what: 'read' | 'write', refused: boolean, nowMs: number): boolean;
}

export function watchRefusals(refusingAfterMs: number): Refusals {
  /** When each kind was refused first since it last succeeded; and whether that lasts long enough. */
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
