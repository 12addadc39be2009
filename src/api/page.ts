/** Lists as every area answers them [platform §2.8]: the entries of a page, and where the page is in the whole. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';

const position = {
  total: Type.Integer({ minimum: 0 }),
  page: Type.Integer({ minimum: 1 }),
  page_size: Type.Integer({ minimum: 1 }),
  total_pages: Type.Integer({ minimum: 0 }),
  has_next: Type.Boolean(),
  has_previous: Type.Boolean(),
};
type PagePosition = { readonly [name in keyof typeof position]: Type.Static<(typeof position)[name]> };

/** The answer of a list: `members`, its entries, and the members of the page. */
export const namedListOf = <T extends Type.TSchema, M extends Type.TProperties>(entry: T, members: M) =>
  strict({ ...members, list: Type.Array(entry), ...position });

/** The same without other members. */
export const listOf = <T extends Type.TSchema>(entry: T) => namedListOf(entry, {});

/** Page `page` of `total` entries, `pageSize` at a time. */
export function pagePosition(total: number, page: number, pageSize: number): PagePosition {
  const totalPages = Math.ceil(total / pageSize);
  return {
    total,
    page,
    page_size: pageSize,
    total_pages: totalPages,
    has_next: page < totalPages,
    has_previous: page > 1,
  };
}

/** A list that is always answered whole: one page that holds everything. */
export function wholeList<T>(list: readonly T[]): PagePosition & { readonly list: readonly T[] } {
  return { list, ...pagePosition(list.length, 1, Math.max(1, list.length)) };
}
