/** Converts the timestamps of a message to their normal form, and records the first that is not a real date. */
import { formatTimestamp, parseTimestamp } from '../../base/timestamp.ts';
import type { WireIssue } from './issue.ts';

export class NormalTimes {
  issue: WireIssue | null = null;

  normal(text: string, path: string): string {
    const ms = parseTimestamp(text);
    if (ms === null) {
      this.issue ??= { path, rule: 'timestamp' };
      return text;
    }
    return formatTimestamp(ms);
  }
}

/** Milliseconds of a timestamp that has already been decoded; anything else is a bug. */
export function timeMs(text: string): number {
  const ms = parseTimestamp(text);
  if (ms === null) throw new Error('a decoded message contains an invalid timestamp');
  return ms;
}
