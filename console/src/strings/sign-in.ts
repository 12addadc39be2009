/** Signing in. */

export const signInWords = {
  title: 'Sign in to Setpoint',
  lead: 'Open the sign-in link that the service printed at start, or paste an access token.',
  token: 'Access token',
  tokenHint: 'To create one: setpoint token --role Engineer --subject you --ttl 12h',
  submit: 'Sign in',
  exchanging: 'Signing in with your link…',
  linkUsed:
    'This sign-in link is no longer valid. A link works once, within ten minutes. Restart the service for a new link, or paste a token.',
  refused: 'The service rejected this token. It may have expired or belong to another site.',
  otherSite: 'This token belongs to another tenant or project.',
  show: 'Show the token',
  hide: 'Hide the token',
  expiredTitle: 'Your sign-in has expired',
  expiredLead: 'Sign in again to continue. Your input on this page is kept.',
  forget: 'Sign out',
};
