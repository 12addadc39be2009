/** Where somebody comes from who opens the console: a link with a code, or a provider. */

/** What an address says when the page is opened: the code of a link, or that a provider did not sign anybody in. */
export type Arrival =
  | { readonly kind: 'code' | 'set-password'; readonly code: string }
  | { readonly kind: 'plain' | 'failed' };

/** It is taken out of the address at once, so that no history keeps it. */
export function takeArrival(): Arrival {
  const [, kind, code] = /^#(code|set-password)=([A-Za-z0-9_-]+)$/.exec(location.hash) ?? [];
  const failed = location.hash === '#sign-in-failed';
  if (code !== undefined || failed) history.replaceState(null, '', '/#/');
  if (code !== undefined) return { kind: kind === 'code' ? 'code' : 'set-password', code };
  return { kind: failed ? 'failed' : 'plain' };
}
