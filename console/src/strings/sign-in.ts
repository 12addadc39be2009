/** Signing in. */

export const signIn = {
  title: 'Sign in to Setpoint',
  lead: 'Open the link that the service printed when it started, or paste an access token.',
  token: 'Access token',
  tokenHint: 'Made with: setpoint token --role Engineer --subject you --ttl 12h',
  submit: 'Sign in',
  exchanging: 'Signing in with your link…',
  linkUsed:
    'This sign-in link does not work any more: a link works once, for ten minutes. Start the service again for a new one, or paste a token.',
  refused: 'The service does not accept this token. It may have expired, or be for another site.',
  otherSite: 'This token is for another tenant or project.',
  show: 'Show the token',
  hide: 'Hide the token',
  expiredTitle: 'Your sign-in has expired',
  expiredLead: 'Sign in again to go on. This page stays as it is: nothing that you typed is lost.',
  forget: 'Sign out instead',
};
