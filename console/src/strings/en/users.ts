/** Local accounts of the site. */

export const userWords = {
  title: 'Users',
  lead: 'Accounts of this site. If people sign in with a provider, the provider manages their accounts.',
  none: 'There are no accounts yet.',
  columns: { name: 'Name', role: 'Role', state: 'State', created: 'Created', actions: 'Actions' },
  state: { active: 'active', invited: 'no password yet', disabled: 'disabled' },
  add: 'Add a user',
  name: 'Name',
  nameHint: 'Letters, digits and . _ : -',
  role: 'Role',
  submit: 'Add',
  reset: 'New password link',
  resetOf: (name: string) => `New password link for ${name}`,
  resetTitle: (name: string) => `New password for ${name}?`,
  resetLead: 'The old password stops working, and every session of this account ends.',
  disable: 'Disable',
  disableOf: (name: string) => `Disable ${name}`,
  disableTitle: (name: string) => `Disable ${name}?`,
  disableLead: 'The account can no longer sign in, and its sessions end within seconds.',
  disabled: (name: string) => `${name} is disabled.`,
  link: (name: string) => `Link for ${name}`,
  linkLead:
    'Give this link to the owner of the account, who can set a password with it once, within a day. It is not shown again.',
};
