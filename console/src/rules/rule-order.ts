/** Which rules the list shows, and in what order: pure functions of the list and what was chosen. */
import { tagsOf } from '../../../src/rules/tags.ts';
import type { RulesShown } from '../addresses.ts';
import type { ListedRule } from '../server/queries.ts';
import { needsAttention } from './rule-words.ts';
import { searchWords } from './tags.ts';

export const sorts = ['priority', 'name', 'state', 'last'] as const;
export type Sort = (typeof sorts)[number];

export interface Chosen {
  /** Words of names and descriptions; one that begins with `#` is a whole tag. */
  readonly search: string;
  /** Ids of the rules that read or write the point that was chosen; null without one. */
  readonly users: ReadonlySet<number> | null;
  readonly filter: RulesShown;
  readonly sort: Sort;
}

export function shownRules(rules: readonly ListedRule[], { search, users, filter, sort }: Chosen): ListedRule[] {
  const wanted = searchWords(search);
  const isShown = (rule: ListedRule): boolean => {
    const isUser = users === null || users.has(rule.id);
    return isUser && wanted.every((word) => hasWord(rule, word)) && passes(rule, filter);
  };
  const found = rules.filter(isShown);
  // The service's own order is by priority, highest first.
  if (sort === 'priority') return found;
  if (sort === 'name') return found.toSorted((a, b) => a.name.localeCompare(b.name));
  if (sort === 'state') return found.toSorted((a, b) => Number(needsAttention(b)) - Number(needsAttention(a)));
  return found.toSorted((a, b) => lastRun(b).localeCompare(lastRun(a)));
}

function hasWord({ name, description }: ListedRule, word: string): boolean {
  if (/^#\p{L}/u.test(word)) return tagsOf(description).includes(word.slice(1));
  return `${name} ${description ?? ''}`.toLowerCase().includes(word);
}

function passes(rule: ListedRule, filter: RulesShown): boolean {
  if (filter === 'all') return true;
  if (filter === 'trouble') return needsAttention(rule);
  return rule.enabled === (filter === 'on');
}

/** RFC 3339 in UTC: the order of the texts is the order of the times. */
function lastRun(rule: ListedRule): string {
  return rule.status?.last_run?.started_at ?? '';
}
