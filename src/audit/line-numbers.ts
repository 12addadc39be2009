/** Numbers of the invalid lines of a file, as one line of text. */

/** Numbers that are named; further ones are counted. */
const namedMax = 10;

export class LineNumbers {
  readonly #named: number[] = [];
  #count = 0;

  static of(numbers: readonly number[]): LineNumbers {
    const lines = new LineNumbers();
    for (const number of numbers) lines.add(number);
    return lines;
  }

  add(number: number): void {
    this.#count++;
    if (this.#named.length < namedMax) this.#named.push(number);
  }

  /** `line 5`, or `lines 5, 6 and 7 more`; null without any. */
  text(): string | null {
    const more = this.#count - this.#named.length;
    if (this.#count === 0) return null;
    return `${this.#count === 1 ? 'line' : 'lines'} ${this.#named.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
  }
}
