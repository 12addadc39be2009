/**
 * Accepted commands as series [points §6.1]: one row when the value of an actuator changes, and at intervals while it is commanded
 * again. Of several commands to one point within one read, the last is recorded.
 */
import type { PointMemory } from '../points/shared-memory.ts';
import { quality } from '../site/quality.ts';
import type { SitePoint } from '../site/site.ts';
import type { HistoryRow } from './historian.ts';

export type CommandedPoint = Pick<SitePoint, 'index' | 'instance' | 'id'>;

/** Action points: their commands are always recorded. */
export function commandedPoints(points: readonly SitePoint[]): CommandedPoint[] {
  return points.filter(({ kind }) => kind === 'action').map(({ index, instance, id }) => ({ index, instance, id }));
}

export interface CommandObserver {
  look(now: { readonly monotonicMs: number; readonly wallMs: number }): HistoryRow[];
}

export function createCommandObserver(
  points: readonly CommandedPoint[],
  memory: Pick<PointMemory, 'commandedMs' | 'commandedValue'>,
  repeatMs: number,
): CommandObserver {
  const last = points.map(() => ({ atMs: 0, value: Number.NaN }));
  return {
    look: ({ monotonicMs, wallMs }) =>
      points.flatMap(({ index, instance, id }, at): HistoryRow[] => {
        const [atMs, value] = [memory.commandedMs[index] ?? 0, memory.commandedValue[index] ?? Number.NaN];
        const before = last[at];
        if (before === undefined || atMs <= before.atMs || !Number.isFinite(value)) return [];
        if (value === before.value && atMs - before.atMs < repeatMs) return [];
        last[at] = { atMs, value };
        return [
          {
            series: { instance, point: id, kind: 'action' },
            eventMs: Math.floor(wallMs - (monotonicMs - atMs)),
            ingestedMs: wallMs,
            value,
            quality: quality.good,
          },
        ];
      }),
  };
}
