/** Options that may be thousands: matches of the search are offered up to a maximum, and a last line has the number of others. */
import type { ComboboxItem, ComboboxItemGroup, OptionsFilter } from '@mantine/core';
import { t } from '../strings/index.ts';

const offeredMax = 100;

/** An option matches if its label contains every word of the search. Groups without matches are left out. */
export const longOptions: OptionsFilter = ({ options, search }) => {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  let [room, left] = [offeredMax, 0];
  const taken = <I extends ComboboxItem>(items: readonly I[]): I[] => {
    const fitting = items.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
    const offered = fitting.slice(0, room);
    room -= offered.length;
    left += fitting.length - offered.length;
    return offered;
  };
  const offered = options.flatMap((option): (ComboboxItem | ComboboxItemGroup<ComboboxItem>)[] => {
    if (!('items' in option)) return taken([option]);
    const items = taken(option.items);
    return items.length === 0 ? [] : [{ ...option, items }];
  });
  // Its value is empty, which no other value is.
  return left === 0 ? offered : [...offered, { value: '', label: t.common.moreOptions(left), disabled: true }];
};
