/** Points in words: place, quality, owner. */
import type { PointsShown } from '../addresses.ts';
import type { Tone } from '../parts/tag.tsx';
import { pointWords } from '../strings/points.ts';
import type { PointEntry, PointOwner } from './point-queries.ts';

const words = pointWords;

export function keyOf({
  instance,
  point_type: kind,
  point,
}: Pick<PointEntry, 'instance' | 'point_type' | 'point'>): string {
  return words.reference(instance, kind, point);
}

export function isGood({ quality }: Pick<PointEntry, 'quality'>): boolean {
  return quality === 'good' || quality === 'uncertain';
}

/** An error that recurs within this time is not over. */
const errorMs = 600_000;

/** Whether the point had an error within ten minutes before it was last observed or commanded; all times are of the service. */
export function hasError({
  last_error: error,
  last_command: command,
  observed_at: at,
}: Pick<PointEntry, 'last_error' | 'last_command' | 'observed_at'>): boolean {
  // An ignored message is the reason for a missing value, and is over when there is a value.
  if (error === null || error.code === 'ignored') return false;
  const fine = [at, command?.result === 'written' ? command.at : null].flatMap((time) => time ?? []);
  return !fine.some((time) => Date.parse(time) - Date.parse(error.at) >= errorMs);
}

/** Whether `observed_at` is the time of a reading; for a bad or offline point it is the time of the failure. */
export function wasRead({ quality }: Pick<PointEntry, 'quality'>): boolean {
  return quality !== 'bad' && quality !== 'offline';
}

export function qualityTone({ quality }: Pick<PointEntry, 'quality'>): Tone {
  if (quality === 'good') return 'calm';
  return quality === 'uncertain' || quality === 'missing' ? 'warn' : 'bad';
}

export function ownerText({ kind, name }: Pick<PointOwner, 'kind' | 'name'>): string {
  if (kind === 'safe' || kind === 'none') return words.owner[kind];
  return words.owner[kind](name);
}

/** Grey by default: an override, a limit or a safe value is unusual. */
export function ownerTone({ kind }: Pick<PointOwner, 'kind'>): Tone {
  if (kind === 'override' || kind === 'limit') return 'warn';
  return kind === 'safe' ? 'info' : 'calm';
}

export function shownPoints(points: readonly PointEntry[], search: string, filter: PointsShown): PointEntry[] {
  const wanted = search.trim().toLowerCase();
  return points.filter((point) => {
    if (filter === 'action' && point.point_type !== 'action') return false;
    if (filter === 'trouble' && isGood(point) && !hasError(point)) return false;
    return `${point.instance_name} ${point.name} ${keyOf(point)}`.toLowerCase().includes(wanted);
  });
}
