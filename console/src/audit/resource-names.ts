/** Names of resources, from the rules and the site as the console knows them. */
import { useRuleNames } from '../server/queries.ts';
import { useCatalogue } from '../server/use-catalogue.ts';
import { resourceName } from './resource-words.ts';

export function useResourceNames(): (resourceId: string) => string | null {
  const rules = useRuleNames();
  const catalogue = useCatalogue();
  return (id) => resourceName(id, { rules, catalogue });
}
