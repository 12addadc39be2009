/**
 * Which rules watch which points, and what was last seen of each: a tick looks only at the rules of points that show something
 * else. Values become unavailable by age alone, without an event; that is seen here too.
 */
import type { PointRef } from '../site/catalogue.ts';
import { type Snapshot, usable } from '../site/snapshot.ts';

export interface SubscribedPoint {
  readonly index: number;
  readonly maxAgeMs: number;
  readonly ref: PointRef;
}

interface Watcher {
  readonly rule: { readonly points: readonly SubscribedPoint[] };
}

/** No usable value is infinite. */
const neverSeen = Number.POSITIVE_INFINITY;

/** The watchers of one point that agree on how old its value may be. */
interface Watch<Entry> {
  readonly maxAgeMs: number;
  /** NaN where it was unavailable; `neverSeen` before the first look, which therefore always counts as a change. */
  last: number;
  /** `position`: of the point among those of the watcher's trigger. */
  readonly by: { readonly entry: Entry; readonly position: number }[];
}

export class WatchedPoints<Entry extends Watcher> {
  readonly #watches = new Map<number, readonly Watch<Entry>[]>();

  add(entry: Entry): void {
    entry.rule.points.forEach(({ index, maxAgeMs }, position) => {
      const ofPoint = this.#watches.get(index) ?? [];
      const known = ofPoint.find((watch) => watch.maxAgeMs === maxAgeMs);
      if (known !== undefined) known.by.push({ entry, position });
      else this.#watches.set(index, [...ofPoint, { maxAgeMs, last: neverSeen, by: [{ entry, position }] }]);
    });
  }

  remove(gone: ReadonlySet<Entry>): void {
    const points = new Set([...gone].flatMap(({ rule }) => rule.points.map(({ index }) => index)));
    for (const point of points) {
      const left = (this.#watches.get(point) ?? [])
        .map((watch) => ({ ...watch, by: watch.by.filter(({ entry }) => !gone.has(entry)) }))
        .filter(({ by }) => by.length > 0);
      if (left.length > 0) this.#watches.set(point, left);
      else this.#watches.delete(point);
    }
  }

  /** One change event; NaN for a value that is not usable. */
  observe(index: number, value: number, each: (entry: Entry, position: number) => void): void {
    for (const watch of this.#watches.get(index) ?? []) {
      watch.last = value;
      for (const { entry, position } of watch.by) each(entry, position);
    }
  }

  /** The watchers of all points that show something else than when they were last looked at. */
  sample(snapshot: Snapshot, each: (entry: Entry) => void): void {
    for (const [index, watches] of this.#watches) {
      for (const watch of watches) {
        const value = usable(snapshot, index, watch.maxAgeMs) ? (snapshot.values[index] as number) : Number.NaN;
        // +0 and -0 are one value, and NaN is seen once.
        if (value === watch.last || (value !== value && watch.last !== watch.last)) continue;
        watch.last = value;
        for (const { entry } of watch.by) each(entry);
      }
    }
  }
}
