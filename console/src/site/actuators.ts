/** Which actuators the first page has room for. */
import type { PointEntry } from '../points/point-queries.ts';

type Held = { readonly owner: Pick<NonNullable<PointEntry['owner']>, 'kind'> | null };

/** At most `most` in the order of the site: first those that a person or a limit holds, then a safe value, then a rule. */
export function unusualFirst<P extends Held>(actuators: readonly P[], most: number): readonly P[] {
  if (actuators.length <= most) return actuators;
  const chosen = new Set(actuators.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, most));
  return actuators.filter((each) => chosen.has(each));
}

function rankOf({ owner }: Held): number {
  if (owner === null || owner.kind === 'none') return 3;
  if (owner.kind === 'rule') return 2;
  return owner.kind === 'safe' ? 1 : 0;
}
