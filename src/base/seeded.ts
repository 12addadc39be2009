/**
 * A seeded stream of numbers for reproducible draws: a function of its seed, so nothing here is random
 * ([processor §7]: two runs of one request give equal bytes).
 */

/** mulberry32: 32 bits of state, good enough to draw bags and features. */
export class SeededStream {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** The next number in [0, 1). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** The next whole number in [0, bound). */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** Moves `count` random entries of `items` to its front, drawn without replacement. */
  drawInPlace(items: Int32Array, count: number): void {
    for (let place = 0; place < count; place++) {
      const other = place + this.below(items.length - place);
      const kept = items[place] ?? 0;
      items[place] = items[other] ?? 0;
      items[other] = kept;
    }
  }
}
