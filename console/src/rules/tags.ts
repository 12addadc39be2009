/** Tags in the list of rules: counted, and as a filter. */
import { tagsOf } from '../../../src/rules/tags.ts';
import type { ListedRule } from '../server/queries.ts';

/** How many rules have each tag; by name. */
export function countedTags(rules: readonly ListedRule[]): readonly (readonly [tag: string, rules: number])[] {
  const counts = new Map<string, number>();
  for (const { description } of rules)
    for (const tag of tagsOf(description ?? null)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts].toSorted(([one], [other]) => one.localeCompare(other));
}

/** The words of a search, in lower case. */
export function searchWords(search: string): readonly string[] {
  return search.toLowerCase().split(/\s+/).filter(Boolean);
}

/** The search with the tag, or without it where it was there. */
export function toggledTag(search: string, tag: string): string {
  const words = search.split(/\s+/).filter(Boolean);
  const others = words.filter((word) => word.toLowerCase() !== `#${tag}`);
  return (others.length < words.length ? others : [...words, `#${tag}`]).join(' ');
}
