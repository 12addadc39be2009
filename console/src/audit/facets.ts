/** How often each action, person, resource and outcome occurs among the events that are shown. */
import type { AuditEvent } from './audit-queries.ts';

export const facetNames = ['action', 'subjectId', 'resourceId', 'outcome'] as const;
export type FacetName = (typeof facetNames)[number];

export interface FacetValue {
  readonly value: string;
  readonly count: number;
}

function valueOf({ action, subject, resource, outcome }: AuditEvent, name: FacetName): string {
  return { action, subjectId: subject.subjectId, resourceId: resource.resourceId, outcome }[name];
}

/** The most frequent first; equally frequent ones by name. */
export function facetsOf(events: readonly AuditEvent[], name: FacetName): FacetValue[] {
  const counts = new Map<string, number>();
  for (const event of events) counts.set(valueOf(event, name), (counts.get(valueOf(event, name)) ?? 0) + 1);
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
}
