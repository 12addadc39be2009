/** Names of resources, from the rules and the site as the console knows them. */
import { useMemo } from 'react';
import { consoleCatalogue } from '../editor/site-catalogue.ts';
import { useRuleNames, useSite } from '../server/queries.ts';
import { resourceName } from './resource-words.ts';

export function useCatalogue() {
  const { data } = useSite();
  return useMemo(() => (data === undefined ? null : consoleCatalogue(data)), [data]);
}

export function useResourceNames(): (resourceId: string) => string | null {
  const rules = useRuleNames();
  const catalogue = useCatalogue();
  return (id) => resourceName(id, { rules, catalogue });
}
