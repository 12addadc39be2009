/** How a command ends [platform §7]: its exit code, and the errors that carry one. The guide command-line.md lists them. */

export const exitCodes = {
  done: 0,
  /** The service refused, or what was looked at is not in order. */
  failed: 1,
  /** Wrong usage, or a change without `--confirmed`: nothing was sent. */
  notConfirmed: 2,
  /** A plan of rules that has something to do. */
  hasChanges: 2,
  /** No answer: the service is down, or the way to it. */
  unreachable: 3,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends the command with one clear message and a code; anything else that is thrown is a bug or has a report of its own. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}
