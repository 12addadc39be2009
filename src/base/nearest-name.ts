/** The known name that a misspelt one probably means. */

/** A document may have thousands of long names: the search for a hint is limited. */
const lettersMax = 32;
const namesMax = 200;

/** Undefined if none is close: at most a third of its letters may differ, by insertion, deletion, transposition or substitution. */
export function nearestName(word: string, known: Iterable<string>): string | undefined {
  if (word.length > lettersMax) return undefined;
  const farthest = Math.max(1, Math.floor(word.length / 3));
  let best: { readonly name: string; readonly distance: number } | undefined;
  let seen = 0;
  for (const name of known) {
    if (Math.abs(name.length - word.length) > farthest) continue;
    if (++seen > namesMax) break;
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance <= farthest && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { name, distance };
  }
  return best?.name;
}

/** The hint with the intended name. */
export function didYouMean(name: string): string {
  return `did you mean ${name}?`;
}

/** The name of a text that ends in `didYouMean`; undefined in any other. */
export function meantIn(text: string): string | undefined {
  return /did you mean (\S+)\?$/.exec(text)?.[1];
}

/** Letters to insert, delete, replace or exchange with their neighbour. */
export function editDistance(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let column = 1; column <= other.length; column++) {
      const differs = one[row - 1] === other[column - 1] ? 0 : 1;
      let least = Math.min((last[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1, (last[column - 1] ?? 0) + differs);
      const isExchange =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isExchange) least = Math.min(least, (before[column - 2] ?? 0) + 1);
      next.push(least);
    }
    [before, last] = [last, next];
  }
  return last[other.length] ?? 0;
}
