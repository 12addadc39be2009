/** A run in words: why, what it wrote, and what became of each write. */
import { writeStatus } from '../editor/write-status.ts';
import type { RunRecord } from '../live/stream.ts';
import { withUnit } from '../parts/number.ts';
import type { PointEntry } from '../points/point-queries.ts';
import { keyOf } from '../points/point-words.ts';
import { siteWords } from '../strings/points.ts';

const words = siteWords.decision;

export function decisionText(record: RunRecord, points: ReadonlyMap<string, PointEntry>): string {
  if (record.error !== null) return record.error.message;
  const writes = record.actions_executed.map((action) => {
    const point = points.get(keyOf(action));
    const name = point === undefined ? keyOf(action) : `${point.instance_name} ${point.name}`;
    const value = withUnit(action.written ?? action.value, point?.unit);
    const isSent = action.success && action.reason !== 'shadow';
    return isSent ? words.wrote(name, value) : words.refused(name, value, writeStatus(action, 'history').text);
  });
  const { matched_condition: condition } = record;
  const did = writes.length === 0 ? words.nothing : writes.join(', ');
  return condition === null ? did : words.because(condition, did);
}
