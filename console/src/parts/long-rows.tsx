/** Rows of a table that may be thousands: only those near the screen are drawn. A short table, and any table on paper, is drawn as a whole. */
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type Ref, type RefObject, useLayoutEffect, useRef, useState } from 'react';
import { usePrinting } from './printing.ts';

/** Up to this number all rows are drawn, for the browser's own search. */
const wholeMax = 60;
const overscanRows = 8;
const blockRows = 50;

interface LongRowsParts<T> {
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string | number;
  /** Height of a row until it is measured, in pixels. */
  readonly rowPx: number;
}

/** Attributes of a drawn row. */
export interface RowPlace {
  readonly ref: Ref<HTMLTableRowElement>;
  readonly 'data-index': number;
  readonly 'aria-rowindex': number;
}

interface LongRows<T> {
  readonly body: RefObject<HTMLTableSectionElement | null>;
  readonly drawn: readonly { readonly item: T; readonly place: RowPlace }[];
  /** The items of whole blocks of rows around the drawn ones, so that scrolling by a row requests nothing new. */
  readonly near: readonly T[];
  /** Heights of the rows before and after the drawn ones, in pixels. */
  readonly before: number;
  readonly after: number;
  /** Moves the focus by `by` rows from the row of `element`, to its link (`data-row`). A row is focused once it is drawn. */
  moveFocus(element: Element, by: number): void;
}

export function useLongRows<T>({ items, keyOf, rowPx }: LongRowsParts<T>): LongRows<T> {
  const body = useRef<HTMLTableSectionElement>(null);
  const isPrinting = usePrinting();
  const [offset, setOffset] = useState(0);
  // On each render, because the height above the table may have changed.
  useLayoutEffect(() => {
    const top = body.current?.getBoundingClientRect().top;
    if (top !== undefined) setOffset(Math.round(top + window.scrollY));
  });
  const rows = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => rowPx,
    overscan: isPrinting || items.length <= wholeMax ? items.length : overscanRows,
    scrollMargin: offset,
    measureElement: heightOf,
    getItemKey: (index) => {
      const item = items[index];
      return item === undefined ? index : keyOf(item);
    },
  });
  // The row to be focused once it is drawn: keys may arrive faster than rows are drawn.
  const wanted = useRef<number | null>(null);
  const focusWanted = (): void => {
    // The focus is not taken from another part of the page.
    const isHere = document.activeElement === document.body || body.current?.contains(document.activeElement) === true;
    if (!isHere) wanted.current = null;
    const link = body.current?.querySelector<HTMLElement>(`tr[data-index="${wanted.current}"] a[data-row]`);
    if (link === null || link === undefined) return;
    wanted.current = null;
    link.focus();
  };
  useLayoutEffect(focusWanted);
  const moveFocus = (element: Element, by: number): void => {
    const from = wanted.current ?? Number(element.closest('tr')?.dataset['index']);
    wanted.current = Math.max(0, Math.min(from + by, items.length - 1));
    focusWanted();
    if (wanted.current !== null) rows.scrollToIndex(wanted.current);
  };
  const shown = rows.getVirtualItems();
  const [first, last] = [shown[0], shown.at(-1)];
  return {
    body,
    drawn: shown.flatMap(({ index }) => {
      const item = items[index];
      const place = { ref: rows.measureElement, 'data-index': index, 'aria-rowindex': index + 2 };
      return item === undefined ? [] : [{ item, place }];
    }),
    near: items.slice(...blocksOf(first?.index ?? 0, last?.index ?? 0)),
    before: (first?.start ?? offset) - offset,
    after: rows.getTotalSize() + offset - (last?.end ?? offset),
    moveFocus,
  };
}

function blocksOf(first: number, last: number): [number, number] {
  return [Math.floor(first / blockRows) * blockRows, (Math.floor(last / blockRows) + 1) * blockRows];
}

/** On a narrow screen rows are cards with gaps between them. */
function heightOf(row: Element): number {
  return row.getBoundingClientRect().height + Number.parseFloat(getComputedStyle(row).marginBottom);
}

/** The space of rows that are not drawn. */
export function Filler({ px }: { px: number }) {
  return px > 0 && <tr aria-hidden data-filler style={{ height: px }} />;
}
