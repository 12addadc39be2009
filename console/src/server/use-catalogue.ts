/** The site's catalogue, for what names points or chooses among them. */
import { useMemo } from 'react';
import { type ConsoleCatalogue, consoleCatalogue } from '../editor/site-catalogue.ts';
import { useSite } from './queries.ts';

/** Null until the site is known. */
export function useCatalogue(): ConsoleCatalogue | null {
  const { data } = useSite();
  return useMemo(() => (data === undefined ? null : consoleCatalogue(data)), [data]);
}
