/** Words that every page uses. */

export const common = {
  product: 'Setpoint',
  cancel: 'Cancel',
  close: 'Close',
  warned: 'Done, with warnings',
  retry: 'Try again',
  signingIn: 'Signing in with your link…',
  loading: 'Loading…',
  none: '–',
  numberWithin: (isWhole: boolean, low: string | null, high: string | null) => {
    const what = isWhole ? 'Enter a whole number' : 'Enter a number';
    if (low === null) return high === null ? `${what}.` : `${what} of at most ${high}.`;
    return high === null ? `${what} of at least ${low}.` : `${what} from ${low} to ${high}.`;
  },
  numberMeanings: (whole: string, fraction: string | null) =>
    `Enter ${whole}${fraction === null ? '' : ` or ${fraction}`}: the point could group thousands.`,
  moreOptions: (n: number) => `${n} more: type to narrow down`,
  copied: 'Copied',
  notCopied: 'The browser did not allow copying.',
  notSafety: 'Setpoint is not a safety system.',
  language: 'Language',
  times: (here: string, site: string) =>
    here === site ? `Times are those of the site, ${site}.` : `Times are in ${here}. The site is in ${site}.`,
  clockDiffers: (length: string) => `Clocks differ by ${length}`,
  clockBehind: (length: string) =>
    `The clock of this device is ${length} behind that of the service. Times on these pages are those of the service.`,
  clockAhead: (length: string) =>
    `The clock of this device is ${length} ahead of that of the service. Times on these pages are those of the service.`,
  pages: {
    site: 'Site',
    points: 'Points',
    devices: 'Devices',
    alarms: 'Alarms',
    rules: 'Rules',
    audit: 'Audit',
    users: 'Users',
    forecasts: 'Forecasts',
  },
  mainNavigation: 'Pages',
  alarmsWaiting: (n: number) => `, ${n} not acknowledged`,
  skip: 'Skip to the content',
  commands: 'Commands',
  commandsHint: 'Ctrl K',
  theme: { toDark: 'Use dark colours', toLight: 'Use light colours' },
  account: {
    menu: (subject: string, role: string) => `Signed in as ${subject}, ${role}`,
    auditOnly: 'audit log only',
    unnamed: 'a token without a name',
    changePassword: 'Change password…',
    signOut: 'Sign out',
    roles: {
      Admin: 'can change and run rules, and read the audit log',
      Engineer: 'can change and run rules',
      Viewer: 'read-only',
    },
    until: (time: string) => `Signed in until ${time}`,
  },
  stream: {
    off: 'Live updates are off',
    connecting: 'Connecting to live updates…',
    live: 'Live: shows values and runs as they happen',
    lost: 'Live updates were interrupted. Reconnecting…',
    missed: (count: number) => `${count} runs were skipped because they arrived too fast for this page`,
    words: { off: 'Off', connecting: 'Connecting', live: 'Live', lost: 'Reconnecting' },
  },
  failure: {
    unreachable: 'Cannot reach the service. It may be restarting. Try again in a moment; your input is kept.',
    'no-answer-in-time': 'The service did not answer in time. It may be very busy.',
    'unexpected-answer': 'The console received an unexpected answer. Check for a proxy in between.',
    unavailable: (message: string) => `The service is up but cannot do this now: ${message}.`,
    denied: 'Your role does not allow this.',
    unauthenticated: 'Your sign-in has expired.',
    rateLimited: (seconds: number) => `Too many requests. Try again in ${seconds} s.`,
    other: (message: string) => capitalised(message),
    correlation: (id: string) => `Correlation id ${id}`,
    title: 'Request failed',
    notFound: 'Page not found.',
    broken: 'This page failed. Changes to a rule are kept as a draft.',
    partMissing:
      'Could not load this part of the console: the service is down or was upgraded. Changes to a rule are kept as a draft.',
    outdated: 'The service was upgraded; this page is still the old version. Changes to a rule are kept as a draft.',
    reload: 'Reload the page',
  },
  offline: {
    unreachable: 'Cannot reach the service. This page shows the last known state; your input is kept.',
    unavailable: 'The service is temporarily unavailable (503). This page retries automatically.',
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
  days: (n: string) => `${n} days`,
};

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}
