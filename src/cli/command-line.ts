/** The context of every command, and shared parsers of option values. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { reasonLengthMax, reasonLengthMin } from '../api/wire.ts';
import type { Clock } from '../base/clock.ts';
import { JsonError, parseJson } from '../base/json.ts';
import { parseTimestamp } from '../base/timestamp.ts';
import { CommandError, exitCodes } from './exit.ts';
import type { Remote } from './remote.ts';
import type { Terminal } from './terminal.ts';

export interface CommandLine {
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Created on demand: invalid settings affect only the commands that use them. */
  readonly remote: () => Remote;
  /** Aborted when the person interrupts. */
  readonly interrupted: AbortSignal;
}

export const jsonOption = ['--json', 'print the answer of the service as JSON'] as const;
export const confirmedOption = ['--confirmed', 'make the change; without it the command only explains it'] as const;

/** `value` as JSON: indented for a person, in one line for a pipe. */
export function printJson(terminal: Terminal, value: unknown): void {
  terminal.out(`${JSON.stringify(value, null, terminal.outIsTerminal ? 2 : undefined)}\n`);
}

/** For commands whose result is not an answer of the service. */
export const jsonResultOption = ['--json', 'print the result as JSON'] as const;

export interface JsonResult {
  readonly json?: true;
}

/** The result of a command: `data` with `--json`, otherwise `text`. */
export function printResult(terminal: Terminal, { json }: JsonResult, data: unknown, text: string): void {
  if (json === true) printJson(terminal, data);
  else terminal.out(text);
}

/** Times of options, in milliseconds since the epoch. */
export function readTime(text: string): number {
  const ms = parseTimestamp(text);
  if (ms === null) throw new InvalidArgumentError('Give a time as RFC 3339 UTC, such as 2026-07-11T10:45:00Z');
  return ms;
}

/** A reason that no service checks, because the command works on the data dir. */
export function recordedReason(text: string): string {
  if (text.length < reasonLengthMin || text.length > reasonLengthMax)
    throw new CommandError(
      `--reason must have ${reasonLengthMin} to ${reasonLengthMax} characters`,
      exitCodes.notConfirmed,
    );
  return text;
}

/** Whole numbers whose range the service validates. */
export function wholeNumber(text: string): number {
  if (!/^(0|[1-9][0-9]{0,15})$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}

export function finiteNumber(text: string): number {
  const value = /^-?[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) throw new InvalidArgumentError('Give a number.');
  return value;
}

/** An object on the command line, or in the named file; `-` is standard input. */
export function jsonObject(given: string): object {
  return jsonOf(given, '{');
}

/** A list, given in the same ways. */
export function jsonList(given: string): object {
  return jsonOf(given, '[');
}

function jsonOf(given: string, opening: '{' | '['): object {
  const inline = given.trimStart().startsWith(opening);
  const kind = opening === '[' ? 'array' : 'object';
  const name = inline ? 'the value' : given === '-' ? 'standard input' : given;
  const text = inline ? given : readText(given, `neither a JSON ${kind} nor a file`);
  try {
    const value = parseJson(text);
    if (typeof value === 'object' && value !== null && Array.isArray(value) === (opening === '[')) return value;
  } catch (error) {
    if (error instanceof JsonError) throw new CommandError(`${name}: ${error.message}`);
    throw error;
  }
  throw new CommandError(`${name}: must be one JSON ${kind}`);
}

const standardInput = 0;

/** The text of a file; `-` is standard input. */
export function readText(path: string, ifAbsent?: string): string {
  try {
    return readFileSync(path === '-' ? standardInput : path, 'utf8');
  } catch (error) {
    throw unreadable(path, error, ifAbsent);
  }
}

/** Why a given file could not be read, in one line. */
export function unreadable(path: string, error: unknown, ifAbsent = 'file not found'): CommandError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return new CommandError(`${path}: ${code === 'ENOENT' ? ifAbsent : `cannot be read (${code})`}`);
}
