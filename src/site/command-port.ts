/**
 * The executor's only output: one attempt to pass a value to the device layer, answered at once. Commands are
 * never queued [points §4.1]: a command that cannot be accepted now has failed.
 */

export interface Command {
  readonly pointIndex: number;
  readonly value: number;
  /** Priority of the rule: a pending command is replaced by one of equal or higher priority. */
  readonly priority: number;
  /** Generation of the snapshot on which the decision was made; another one now means the device layer restarted. */
  readonly generation: number;
  /** The value before limits and rounding. */
  readonly asked: number;
  readonly by: CommandSource;
}

/** The source of a command: a rule by its number, an override or a limit by its id. */
export interface CommandSource {
  readonly kind: 'rule' | 'override' | 'limit';
  readonly id: string;
}

export type CommandAnswer = 'accepted' | 'unavailable' | 'stale-generation' | 'offline' | 'no-route';

export interface CommandPort {
  submit(command: Command): CommandAnswer;
}
