/**
 * A queue that removes its oldest item in constant time, regardless of its length. An array would move all its items, which costs
 * most when a queue is at its limit and each new item drops the oldest.
 */
export class Fifo<Item> {
  #items: (Item | undefined)[] = [];
  /** Items before this place have left. */
  #from = 0;

  get length(): number {
    return this.#items.length - this.#from;
  }

  get first(): Item | undefined {
    return this.#items[this.#from];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  /** The oldest items, at most `count`; they stay in the queue. */
  head(count: number): readonly Item[] {
    return this.#items.slice(this.#from, this.#from + count) as Item[];
  }

  /** Removes the oldest items, at most `count`. */
  take(count: number): readonly Item[] {
    const taken = this.head(count);
    // The old place must not keep a removed item alive: queues are bounded in bytes too.
    this.#items.fill(undefined, this.#from, this.#from + taken.length);
    this.#from += taken.length;
    // Compacts when half of the array is free: each item moves once on average.
    if (this.#from * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#from);
      this.#from = 0;
    }
    return taken;
  }

  /** Oldest first. */
  *[Symbol.iterator](): IterableIterator<Item> {
    for (let at = this.#from; at < this.#items.length; at++) yield this.#items[at] as Item;
  }
}
