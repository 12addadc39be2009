/** Tags of rules: words of a description that begin with `#`, so that they travel wherever the description goes. */

const tagPattern = /(?<![\p{L}\p{N}#/&])#(\p{L}[\p{L}\p{N}_-]*)/gu;

/** In lower case, each once, in the order of the text. */
export function tagsOf(description: string | null): readonly string[] {
  return [...new Set([...(description ?? '').matchAll(tagPattern)].map(([, name]) => (name ?? '').toLowerCase()))];
}

/** The description in one line without its tags, or as it is without `tag`. */
export function withoutTags(description: string | null, tag?: string): string {
  return (description ?? '')
    .replaceAll(tagPattern, (whole, name: string) => (tag === undefined || name.toLowerCase() === tag ? '' : whole))
    .replaceAll(tag === undefined ? /\s+/g : / {2,}/g, ' ')
    .trim();
}
