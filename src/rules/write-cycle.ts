/** Rules that start each other: one writes a point that the next is triggered by [rules §4.5]. */

export interface WritingRule {
  readonly id: number;
  /** Positions of the points in the catalogue. */
  readonly startedBy: readonly number[];
  readonly writes: readonly number[];
}

/**
 * The shortest circle of several rules through `id`: their ids in the order in which they start each other, `id` first.
 * Null without such a cycle. A rule that triggers only itself is not a cycle; it has its own warning.
 */
export function writeCycle(id: number, rules: readonly WritingRule[]): readonly number[] | null {
  const started = new Map<number, WritingRule[]>();
  for (const rule of rules) {
    for (const point of rule.startedBy) {
      const others = started.get(point);
      if (others === undefined) started.set(point, [rule]);
      else others.push(rule);
    }
  }
  const first = rules.find((rule) => rule.id === id);
  if (first === undefined) return null;
  // Breadth first: whatever reaches the first rule again soonest is the shortest way.
  const cameFrom = new Map<number, number>();
  let edge: readonly WritingRule[] = [first];
  while (edge.length > 0) {
    const next: WritingRule[] = [];
    for (const rule of edge) {
      for (const follower of rule.writes.flatMap((point) => started.get(point) ?? [])) {
        if (follower.id === id && rule.id !== id) return wayTo(rule.id, id, cameFrom);
        if (follower.id === id || cameFrom.has(follower.id)) continue;
        cameFrom.set(follower.id, rule.id);
        next.push(follower);
      }
    }
    edge = next;
  }
  return null;
}

function wayTo(last: number, first: number, cameFrom: ReadonlyMap<number, number>): number[] {
  const way = [last];
  for (let at = last; at !== first; ) {
    const before = cameFrom.get(at);
    if (before === undefined) throw new Error(`no way leads to rule ${at}`);
    way.unshift(before);
    at = before;
  }
  return way;
}
