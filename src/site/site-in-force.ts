/** The site in force [points §1.3]: values derived from it are derived again after a change. */
import type { Site } from './site.ts';

export type ReadSite = () => Site;

export interface SiteInForce {
  readonly current: ReadSite;
  use(site: Site): void;
}

export function siteInForce(initial: Site): SiteInForce {
  let current = initial;
  return {
    current: () => current,
    use(site) {
      current = site;
    },
  };
}

/** The value that `make` derives from the site: once, and again after each change. */
export function madeOfSite<T>(site: ReadSite, make: (site: Site) => T): () => T {
  let from: Site | undefined;
  let made: T;
  return () => {
    const now = site();
    if (now !== from) made = make(now);
    from = now;
    return made;
  };
}
