/**
 * Live values for readers [points §8.3]: all points that one follows at first, then those that changed, at most every
 * `pushIntervalMs`. One sample serves all readers, and a reader that is slow gets the newest values when it has room again.
 * While no sample comes, the last one ages, and its values are sent as stale once they are.
 */
import type { Feed, FeedReader } from '../automation/live-stream.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { nextTurn } from '../base/turns.ts';
import { type PointValue, valueOf } from '../points/point-value.ts';
import { aged, type TableSample } from '../points/sample.ts';
import type { Site, SitePoint } from '../site/site.ts';

export interface PointFeedParts {
  readonly site: () => Pick<Site, 'points'>;
  readonly sample: () => Promise<TableSample | null>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Shortest time between two messages to one reader, in milliseconds. */
export const pushIntervalMs = 250;
/** How long a look waits for a new sample, in milliseconds: without a process that controls, an answer can be long in coming. */
export const sampleWaitMs = 1000;

interface Followed {
  readonly point: SitePoint;
  sent: Pick<PointValue, 'value' | 'quality'> | null;
}
interface Reader {
  readonly followed: readonly Followed[];
  readonly push: FeedReader;
}

export function createPointFeed(parts: PointFeedParts): Feed {
  return new SampledFeed(parts);
}

class SampledFeed implements Feed {
  readonly #parts: PointFeedParts;
  readonly #readers = new Set<Reader>();
  #timer: Timer | undefined;
  #looking = false;
  /** A reader came during a look. */
  #again = false;
  /** The newest sample, and when it came. */
  #known: { readonly sample: TableSample | null; readonly monotonicMs: number } | null = null;
  #asked: Promise<void> | null = null;

  constructor(parts: PointFeedParts) {
    this.#parts = parts;
  }

  /** All points when none is named. */
  follow(channels: readonly string[] | undefined, push: FeedReader): () => void {
    const { points } = this.#parts.site();
    const byName = new Map(points.map((point) => [`${point.instance}:${point.kind}:${point.id}`, point]));
    const followed = [...new Set(channels ?? byName.keys())].map((name): Followed => {
      const point = byName.get(name);
      if (point === undefined)
        throw new Fault('invalid-input', `message /data/channels: the site has no point ${name}`);
      return { point, sent: null };
    });
    const reader = { followed, push };
    this.#readers.add(reader);
    this.#timer?.cancel();
    this.#timer = undefined;
    void this.#look();
    return () => void this.#readers.delete(reader);
  }

  /** One look at a time; a reader that comes meanwhile has one of its own right after it. */
  async #look(): Promise<void> {
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    await this.#sendAll();
    this.#looking = false;
    if (this.#readers.size === 0) return;
    this.#timer = this.#parts.clock.after(this.#again ? 0 : pushIntervalMs, () => void this.#look());
    this.#again = false;
  }

  async #sendAll(): Promise<void> {
    const { clock, log } = this.#parts;
    try {
      this.#asked ??= this.#ask();
      await this.#waited(this.#asked);
      if (this.#known === null) return;
      const { sample, monotonicMs } = this.#known;
      const now = sample === null ? null : aged(sample, clock.monotonicMs() - monotonicMs);
      // A turn for each: thousands of points of many readers would hold the thread.
      for (const reader of this.#readers) {
        send(reader, now);
        await nextTurn(clock);
      }
    } catch (error) {
      // The sample may be older than a point that was just added; the next one has it.
      log.debug('cannot send live values to streams', { error: String(error) });
    }
  }

  async #ask(): Promise<void> {
    const { clock, sample, log } = this.#parts;
    try {
      this.#known = { sample: await sample(), monotonicMs: clock.monotonicMs() };
    } catch (error) {
      // The engine is elsewhere or starting: it is asked again at the next look.
      log.debug('cannot read live values for streams', { error: String(error) });
    } finally {
      this.#asked = null;
    }
  }

  #waited(asked: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#parts.clock.after(sampleWaitMs, resolve);
      void asked.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}

function send({ followed, push }: Reader, sample: TableSample | null): void {
  const changed = followed.flatMap((each) => {
    const now = valueOf(each.point, sample);
    const { sent } = each;
    return sent?.value === now.value && sent.quality === now.quality ? [] : [{ each, now }];
  });
  if (changed.length === 0) return;
  const values = changed.map(({ each: { point }, now }) => ({
    instance: point.instance,
    point_type: point.kind,
    point: point.id,
    ...now,
  }));
  if (!push(values)) return;
  for (const { each, now } of changed) each.sent = now;
}
