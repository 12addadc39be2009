/** The actuators on the first page. */
import { describe, expect, it } from 'vitest';
import { unusualFirst } from './actuators.ts';

const held = (...kinds: readonly ('limit' | 'override' | 'rule' | 'safe' | 'none' | null)[]) =>
  kinds.map((kind) => ({ owner: kind === null ? null : { kind } }));
const kindsOf = (actuators: ReturnType<typeof held>) => actuators.map(({ owner }) => owner?.kind ?? null);

describe('actuators of the first page', () => {
  it('shows all of them where there is room', () => {
    const all = held('none', 'rule', null, 'override');
    expect(unusualFirst(all, 4)).toEqual(all);
  });

  it('leaves out those that nobody holds, then those of rules, and keeps the order of the site', () => {
    const all = held('none', 'rule', 'safe', null, 'limit', 'rule', 'override');
    expect(kindsOf([...unusualFirst(all, 5)])).toEqual(['rule', 'safe', 'limit', 'rule', 'override']);
    expect(kindsOf([...unusualFirst(all, 3)])).toEqual(['safe', 'limit', 'override']);
    expect(kindsOf([...unusualFirst(all, 2)])).toEqual(['limit', 'override']);
  });
});
