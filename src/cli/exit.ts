/** How a command ends [platform §7]: its exit code, and the errors that carry one. The guide command-line.md lists them. */

export const exitCodes = {
  done: 0,
  /** The service refused, or a check failed. */
  failed: 1,
  /** Wrong usage, or a change without `--confirmed`: nothing was sent. */
  notConfirmed: 2,
  /** A plan of rules with changes. */
  hasChanges: 2,
  /** No answer: the service is down, or unreachable. */
  unreachable: 3,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends the command with one message and a code; any other error is a bug or has its own report. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}
