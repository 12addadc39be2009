/** Choosing among thousands of points. */
import { describe, expect, it } from 'vitest';
import { longOptions } from './long-options.ts';

const groups = Array.from({ length: 30 }, (_, group) => ({
  group: `feeder ${group}`,
  items: Array.from({ length: 10 }, (_each, at) => ({
    value: `${group}:${at}`,
    label: `feeder ${group} · power ${at}`,
  })),
}));
const offeredTo = (search: string) => {
  const options = longOptions({ options: groups, search, limit: Number.POSITIVE_INFINITY });
  return options.flatMap((option) => ('items' in option ? option.items : [option]));
};

describe('long options', () => {
  it('offers a hundred, and says how many others there are', () => {
    const offered = offeredTo('');
    expect(offered).toHaveLength(101);
    expect(offered.at(-1)).toEqual({ value: '', label: '200 more: type to narrow down', disabled: true });
  });

  it('finds an option by words of its label, in any order', () => {
    expect(offeredTo('Power  3 feeder 29').map(({ value }) => value)).toEqual(['29:3']);
  });

  it('leaves groups out in which nothing fits', () => {
    const options = longOptions({ options: groups, search: 'feeder 29', limit: Number.POSITIVE_INFINITY });
    expect(options.map((option) => ('items' in option ? option.group : option))).toEqual(['feeder 29']);
    expect(offeredTo('nothing')).toEqual([]);
  });
});
