/** How a person arrives at the console: by a link with a code, or from an identity provider. */

/** The meaning of the address when the page opens: the code of a link, or a sign-in with a provider that failed or was not possible. */
export type Arrival =
  | { readonly kind: 'code' | 'set-password'; readonly code: string }
  | { readonly kind: 'plain' | 'failed' | 'unavailable' };

const linkPattern = /^#(code|set-password)=([A-Za-z0-9_-]+)$/;

/** It is taken out of the address at once, so that no history keeps it. */
export function takeArrival(): Arrival {
  const [, kind, code] = linkPattern.exec(location.hash) ?? [];
  const [, outcome] = /^#sign-in-(failed|unavailable)$/.exec(location.hash) ?? [];
  if (code !== undefined || outcome !== undefined) history.replaceState(null, '', '/#/');
  if (code !== undefined) return { kind: kind === 'code' ? 'code' : 'set-password', code };
  if (outcome === 'failed' || outcome === 'unavailable') return { kind: outcome };
  return { kind: 'plain' };
}

/** In a tab that shows the console already, a link changes nothing but the fragment: the page opens again with it. */
export function openAgainForLinks(): void {
  addEventListener('hashchange', () => {
    if (linkPattern.test(location.hash)) location.reload();
  });
}
