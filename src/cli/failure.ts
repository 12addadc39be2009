/**
 * A failure as the user sees it: the server's own message with its code and correlation id, one line for each error, and no stack
 * [platform §7].
 */
import { ApiError, localCodes } from '../api/client.ts';
import { CommandError, type ExitCode, exitCodes } from './exit.ts';
import { printable } from './terminal.ts';

export interface CommandFailure {
  readonly text: string;
  readonly exitCode: ExitCode;
}

/** Null for an unexpected error: a bug keeps its stack. */
export function failureOf(
  error: unknown,
  asJson: boolean,
  isExpected: (error: unknown) => boolean,
): CommandFailure | null {
  if (error instanceof ApiError) {
    const unreachable = error.code === localCodes.unreachable || error.code === localCodes.timeout;
    return {
      text: asJson ? jsonOf(error) : linesOf(error),
      exitCode: unreachable ? exitCodes.unreachable : exitCodes.failed,
    };
  }
  if (error instanceof CommandError || isOfSystem(error) || isExpected(error)) {
    const message = error instanceof Error ? error.message : String(error);
    const exitCode = error instanceof CommandError ? error.exitCode : exitCodes.failed;
    return {
      text: asJson ? `${JSON.stringify({ error: { code: 'command-failed', message } })}\n` : prefixed(message),
      exitCode,
    };
  }
  return null;
}

/** A missing right, a full disk, a folder in place of a file: the message of the operating system says what, and where. */
function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}

/** Every line begins with the name of the program. */
export function prefixed(message: string): string {
  return message
    .split('\n')
    .map((line) => `setpoint: ${printable(line)}\n`)
    .join('');
}

function jsonOf(error: ApiError): string {
  const { code, message, correlationId, retryable, retryAfterMs, details } = error;
  const shown = { code, message, correlationId, retryable, retryAfterMs, details };
  return `${JSON.stringify({ error: shown })}\n`;
}

function linesOf(error: ApiError): string {
  const ids = [error.code, ...(error.correlationId === null ? [] : [`correlation id ${error.correlationId}`])];
  const wait = error.retryAfterMs === null ? '' : `; try again in ${Math.ceil(error.retryAfterMs / 1000)} s`;
  const details = detailLines(error.details);
  // With a single issue, the message already states it.
  const told = details.length === 1 && error.message.endsWith(details[0]?.trim() ?? '');
  const lines = [`${error.message}${wait} (${ids.join(', ')})`, ...(told ? [] : details)];
  return prefixed(lines.join('\n'));
}

/** Issues of a flow, reasons of a frame, lines of a file: any list that the server sent, one line per entry. */
function detailLines(details: Readonly<Record<string, unknown>>): string[] {
  return Object.values(details).flatMap((value) => (Array.isArray(value) ? value.map(detailLine) : []));
}

function detailLine(item: unknown): string {
  if (typeof item !== 'object' || item === null) return `  ${String(item)}`;
  const members = new Map<string, unknown>(Object.entries(item));
  const of = (name: string): string | null => {
    const value = members.get(name);
    return typeof value === 'string' ? value : null;
  };
  const message = of('message');
  if (message === null) return `  ${JSON.stringify(item)}`;
  const node = of('node_id');
  const path = of('path');
  const place = [...(node === null ? [] : [`node ${node}`]), ...(path === null || path === '' ? [] : [path])].join(
    ', ',
  );
  const hint = of('hint');
  return `  ${place === '' ? '' : `${place}: `}${message}${hint === null ? '' : ` (${hint})`}`;
}
