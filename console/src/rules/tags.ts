/** Tags of rules: words of a description that begin with `#`, so that they travel wherever the description goes. */
import type { ListedRule } from '../server/queries.ts';

const tagPattern = /(?<![\p{L}\p{N}#/&])#(\p{L}[\p{L}\p{N}_-]*)/gu;

/** In lower case, each once, in the order of the text. */
export function tagsOf(description: string | null): readonly string[] {
  return [...new Set([...(description ?? '').matchAll(tagPattern)].map(([, name]) => (name ?? '').toLowerCase()))];
}

/** The description for the list, where its tags are shown beside it. */
export function withoutTags(description: string | null): string {
  return (description ?? '').replaceAll(tagPattern, '').replaceAll(/\s+/g, ' ').trim();
}

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
