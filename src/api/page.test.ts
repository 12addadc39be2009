/** Pages of lists at their edges [platform §2.8]. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pagePosition, wholeList } from './page.ts';

test.each([
  [0, 1, 20, { total_pages: 0, has_next: false, has_previous: false }],
  [20, 1, 20, { total_pages: 1, has_next: false, has_previous: false }],
  [21, 1, 20, { total_pages: 2, has_next: true, has_previous: false }],
  [21, 2, 20, { total_pages: 2, has_next: false, has_previous: true }],
  [21, 3, 20, { total_pages: 2, has_next: false, has_previous: true }],
])('[platform §2.8] %d entries, page %d of %d a page', (total, page, pageSize, expected) => {
  expect(pagePosition(total, page, pageSize)).toEqual({ total, page, page_size: pageSize, ...expected });
});

test('[platform §2.8] following has_next from page 1 visits each entry once', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 1, max: 100 }), (total, pageSize) => {
      let seen = 0;
      for (let page = 1; ; page++) {
        seen += Math.min(pageSize, total - (page - 1) * pageSize);
        if (!pagePosition(total, page, pageSize).has_next) break;
      }
      expect(seen).toBe(total);
    }),
  );
});

test('[platform §2.8] a whole list is one page, also when it is empty', () => {
  const position = { page: 1, has_next: false, has_previous: false };
  expect(wholeList([])).toEqual({ list: [], total: 0, page_size: 1, total_pages: 0, ...position });
  expect(wholeList(['a', 'b'])).toEqual({ list: ['a', 'b'], total: 2, page_size: 2, total_pages: 1, ...position });
});
