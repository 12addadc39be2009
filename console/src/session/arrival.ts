/** How a person arrives at the console: by a link with a code, or from an identity provider. */

/** The meaning of the address when the page opens: the code of a link, or a failed sign-in at a provider. */
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
