/**
 * The title of the browser's tab: among several tabs, and in the history, it tells pages and sites apart. Alarms that nobody acknowledged
 * are counted first, where a narrow tab shows them.
 */
import { useEffect } from 'react';
import { useShownPageName } from '../parts/page-heading.tsx';
import { useSite } from '../server/queries.ts';
import { t } from '../strings/index.ts';

export function useTabTitle(waiting: number): void {
  const page = useShownPageName();
  const site = useSite().data?.site.name;
  useEffect(() => {
    document.title = tabTitle(page, site ?? t.common.product, waiting);
    return () => void (document.title = t.common.product);
  }, [page, site, waiting]);
}

/** `page` is null until it is loaded. */
function tabTitle(page: string | null, site: string, waiting: number): string {
  const name = page === null ? site : `${page} · ${site}`;
  return waiting === 0 ? name : `(${waiting}) ${name}`;
}
