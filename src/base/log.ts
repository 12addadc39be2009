/**
 * Structured logs: one JSON line each on standard output (decisions §1, Operations). The domain logs through the
 * small `Log` interface; pino is behind it.
 */
import { pino } from 'pino';

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose lines all carry `fields`. */
  with(fields: LogFields): Log;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export function createLog(level: LogLevel, fields: LogFields = {}): Log {
  return wrap(pino({ level, base: { ...fields } }));
}

function wrap(target: pino.Logger): Log {
  return {
    debug: (message, fields) => target.debug(fields ?? {}, message),
    info: (message, fields) => target.info(fields ?? {}, message),
    warn: (message, fields) => target.warn(fields ?? {}, message),
    error: (message, fields) => target.error(fields ?? {}, message),
    with: (fields) => wrap(target.child({ ...fields })),
  };
}

/** A log that keeps nothing, for tests and for tools that print their own output. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silentLog,
};
