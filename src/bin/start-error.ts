/** Errors that end a start, in words for the operator. */
import { Fault } from '../base/fault.ts';
import { YamlError } from '../base/yaml.ts';
import { IdentityConfigError } from '../gateway/identity-config.ts';

/** The start cannot continue; the message is the line that the operator sees. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartError';
  }
}

/** Errors with messages for the operator; any other is a bug and shows its stack. */
export function isForOperator(error: unknown): error is Error {
  return [StartError, IdentityConfigError, YamlError, Fault].some((kind) => error instanceof kind);
}

/** An error before a part runs is for the operator: a damaged file, a format of a newer program. */
export function orStartError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isForOperator(error)) throw error;
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}
