/**
 * A queue whose oldest item leaves in constant time, however long it is. An array moves all its items for that, which costs most
 * when a queue is at its limit and each newcomer drops the oldest.
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

  /** The oldest, at most so many; they stay. */
  head(count: number): readonly Item[] {
    return this.#items.slice(this.#from, this.#from + count) as Item[];
  }

  /** Takes the oldest away, at most so many. */
  take(count: number): readonly Item[] {
    const taken = this.head(count);
    // The old place must not keep a removed item alive: queues are bounded in bytes too.
    this.#items.fill(undefined, this.#from, this.#from + taken.length);
    this.#from += taken.length;
    // The room of those that left is given back when it is half of all: each item is moved once on average.
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
