/** Words that every page uses. */

export const common = {
  product: 'Setpoint',
  cancel: 'Cancel',
  close: 'Close',
  retry: 'Try again',
  loading: 'Loading…',
  none: '–',
  notNumber: 'This is no number.',
  copy: 'Copy',
  copied: 'Copied',
  notSafety: 'Setpoint is not a safety system.',
  pages: { rules: 'Rules', audit: 'Audit', forecasts: 'Forecasts' },
  mainNavigation: 'Pages',
  skip: 'Skip to the content',
  commands: 'Commands',
  commandsHint: 'Ctrl K',
  theme: { toDark: 'Use dark colours', toLight: 'Use light colours' },
  account: {
    menu: (subject: string, role: string) => `Signed in as ${subject}, ${role}`,
    auditOnly: 'audit log only',
    unnamed: 'a token without a name',
    signOut: 'Sign out',
    roles: {
      Admin: 'may change and run rules, and read the audit log',
      Engineer: 'may change and run rules',
      Viewer: 'may look, and change nothing',
    },
    until: (time: string) => `Signed in until ${time}`,
  },
  stream: {
    off: 'Live updates are off',
    connecting: 'Connecting to live updates…',
    live: 'Live: runs are shown as they happen',
    lost: 'Live updates are lost. Connecting again…',
    missed: (count: number) => `${count} runs came faster than this page could take them and were left out`,
    words: { off: 'Off', connecting: 'Connecting', live: 'Live', lost: 'Reconnecting' },
  },
  failure: {
    unreachable:
      'The service cannot be reached. It may be restarting; try again in a moment, nothing that you typed is lost.',
    'no-answer-in-time': 'The service did not answer in time. It may be very busy.',
    'unexpected-answer': 'The answer is not one that this console understands. Is a proxy in between?',
    unavailable: (message: string) => `The service is up but cannot do this now: ${message}.`,
    denied: 'Your role does not allow this.',
    unauthenticated: 'The sign-in is no longer valid.',
    rateLimited: (seconds: number) => `Too many requests. Try again in ${seconds} s.`,
    other: (message: string) => capitalised(message),
    correlation: (id: string) => `Correlation id ${id}`,
    title: 'That did not work',
    notFound: 'There is no such page.',
    broken: 'This page has failed. What you typed in a rule is kept as a draft.',
    partMissing:
      'This part of the console could not be fetched: the service is away, or was renewed meanwhile. What you changed in a rule is kept as a draft.',
    reload: 'Load the page again',
  },
  offline: {
    unreachable: 'The service cannot be reached. Shown is what was last known; nothing that you typed is lost.',
    unavailable: 'The service answers that it is not available right now (503). This page keeps asking.',
  },
  ago: {
    now: 'just now',
    seconds: (n: number) => `${n} s ago`,
    minutes: (n: number) => `${n} min ago`,
    hours: (n: number) => `${n} h ago`,
    days: (n: number) => (n === 1 ? 'a day ago' : `${n} days ago`),
  },
  ahead: {
    now: 'now',
    seconds: (n: number) => `in ${n} s`,
    minutes: (n: number) => `in ${n} min`,
    hours: (n: number) => `in ${n} h`,
    days: (n: number) => (n === 1 ? 'in a day' : `in ${n} days`),
  },
};

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}
