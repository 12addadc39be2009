/**
 * The layout of a SunSpec model [points §3.4], by point name: `W`; `DCW[2]` in a model with one plain group;
 * `Crv[1].MustTrip.Pt[2].V` with nested groups or several. Pure; runs in the device thread too.
 */
import type { SunSpecGroup, SunSpecModel, SunSpecPoint, SunSpecType } from './model.ts';

/** A point of a device. */
export interface PlacedPoint {
  readonly name: string;
  readonly type: SunSpecType;
  readonly length: number;
  /** Register offset from the first one after the model's length. */
  readonly offset: number;
  /** Offset of the register with its power of ten; undefined if it has none. */
  readonly scaleOffset: number | undefined;
  /** The fixed power of ten, without such a register. */
  readonly exponent: number;
  readonly unit: string;
}

/** Facts about a model that must be read from the device. */
export interface Extent {
  /** Registers after the model's length. */
  readonly length: number;
  /** Repeat counts of groups, by the name of the count point. */
  readonly counts: Readonly<Record<string, number>>;
}

interface Part {
  readonly start: number;
  readonly prefix: string;
  readonly suffix: string;
  /** Scale factors of this group and of the enclosing ones, by name. */
  readonly scales: ReadonlyMap<string, number>;
}

/** Every point within the length, with its scale factor: a device may have an older, shorter edition of a model. */
export function placedPoints(model: SunSpecModel, extent: Extent): PlacedPoint[] {
  const placed: PlacedPoint[] = [];
  const place = (group: Pick<SunSpecGroup, 'points' | 'groups'>, part: Part): void => {
    const { start, prefix, suffix } = part;
    const within = group.points.filter(({ offset, length }) => start + offset + length <= extent.length);
    const own = within.flatMap(({ name, type, offset }) =>
      type === 'sunssf' ? [[name, start + offset] as const] : [],
    );
    const scales = new Map([...part.scales, ...own]);
    // Without its scale factor a number has no meaning: the register after the model belongs to another one.
    for (const point of within)
      if (typeof point.scale !== 'string' || scales.has(point.scale))
        placed.push({
          ...scaledPoint(point, scales),
          name: prefix + point.name + suffix,
          offset: start + point.offset,
        });
    let at = start + pointsLength(group.points);
    for (const inner of group.groups) {
      const each = groupLength(inner, extent.counts);
      if (each === 0) continue;
      const room = Math.max(0, extent.length - at);
      const times = inner.count === null ? Math.floor(room / each) : timesOf(inner, extent.counts);
      // Beyond the length there is nothing, whatever the device's count.
      for (let nth = 1; nth <= Math.min(times, Math.ceil(room / each)); nth++)
        place(inner, { start: at + (nth - 1) * each, ...namesIn(model, inner, prefix, String(nth)), scales });
      at += times * each;
    }
  };
  place(model, { start: 0, prefix: '', suffix: '', scales: new Map() });
  return placed;
}

function scaledPoint({ type, length, unit, scale }: SunSpecPoint, scales: ReadonlyMap<string, number>) {
  const scaleOffset = typeof scale === 'string' ? scales.get(scale) : undefined;
  return { type, length, unit, scaleOffset, exponent: typeof scale === 'number' ? scale : 0 };
}

function namesIn(model: SunSpecModel, group: SunSpecGroup, prefix: string, nth: string) {
  if (isPlain(model)) return { prefix, suffix: `[${nth}]` };
  const index = group.count === 1 ? '' : `[${nth}]`;
  return { prefix: `${prefix}${group.name}${index}.`, suffix: '' };
}

/** A single group without nested groups: its points need no group name. */
function isPlain({ groups: [first, ...others] }: SunSpecModel): boolean {
  return first !== undefined && others.length === 0 && first.groups.length === 0 && first.count !== 1;
}

/** Registers of a model with so many repetitions of the group that is as long as the model allows. */
export function modelLength(model: SunSpecModel, counts: Extent['counts'], repetitions: number): number {
  return groupLength(model, counts, repetitions);
}

function groupLength(
  group: Pick<SunSpecGroup, 'points' | 'groups'>,
  counts: Extent['counts'],
  repetitions = 0,
): number {
  const inner = group.groups.map((each) => {
    const times = each.count === null ? repetitions : timesOf(each, counts);
    return times * groupLength(each, counts);
  });
  return pointsLength(group.points) + inner.reduce((sum, length) => sum + length, 0);
}

function pointsLength(points: readonly SunSpecPoint[]): number {
  const last = points.at(-1);
  return last === undefined ? 0 : last.offset + last.length;
}

function timesOf({ count }: SunSpecGroup, counts: Extent['counts']): number {
  return typeof count === 'string' ? (counts[count] ?? 0) : (count ?? 0);
}

/** The points that hold the counts of groups. */
export function countPoints(model: SunSpecModel): SunSpecPoint[] {
  const names = new Set<string>();
  const look = (groups: readonly SunSpecGroup[]): void => {
    for (const { count, groups: inner } of groups) {
      if (typeof count === 'string') names.add(count);
      look(inner);
    }
  };
  look(model.groups);
  return model.points.filter(({ name }) => names.has(name));
}

const declared = new WeakMap<SunSpecModel, ReadonlyMap<string, SunSpecPoint>>();

/** The point of that name, whatever its indices; undefined if the model has none that can be read. */
export function declaredPoint(model: SunSpecModel, name: string): SunSpecPoint | undefined {
  const known = declared.get(model) ?? new Map(declaredIn(model, model, ''));
  declared.set(model, known);
  return known.get(name.replaceAll(/\[\d+\]/g, '[]'));
}

function declaredIn(
  model: SunSpecModel,
  group: Pick<SunSpecGroup, 'points' | 'groups'>,
  prefix: string,
  suffix = '',
): (readonly [string, SunSpecPoint])[] {
  const own = group.points
    .filter(({ type }) => type !== 'pad')
    .map((point) => [prefix + point.name + suffix, point] as const);
  const inner = group.groups.flatMap((each) => {
    const names = namesIn(model, each, prefix, '');
    return declaredIn(model, each, names.prefix, names.suffix);
  });
  return [...own, ...inner];
}
