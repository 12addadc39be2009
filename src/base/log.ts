/**
 * Structured logs: one JSON line each on standard output [platform §4.2]. The domain logs through the
 * small `Log` interface; pino is behind it.
 */
import { pino } from 'pino';
import { logOutput } from './log-output.ts';

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

/** Members that are always redacted, at the top level and one level down. */
const secrets = ['authorization', 'cookie', 'password', 'passwd', 'secret', 'token', 'access_token', 'private_key'];
const hidden = '[redacted]';
/** Secrets that a message or a library's error may quote: credentials in a header, a signed token, an address with a password. */
const credentials = [
  /\b(Bearer|Basic) [A-Za-z0-9._~+/=-]{8,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g,
  /(?<=\/\/[^/\s:@"]{0,128}:)[^/\s@"]+(?=@)/g,
  // In a query or a form.
  /(?<=[?&\s"](?:access_token|refresh_token|id_token|token|client_secret|secret|password|passwd|code|api_?key)=)[^&\s"\\]+/gi,
  // In a member of a document at any depth, also of a document that is quoted as text.
  /(?<="(?:authorization|(?:set-)?cookie|password|passwd|secret|client_secret|token|access_token|refresh_token|id_token|private_key|api_?key|x-api-key)":")(?!\[redacted\])(?:[^"\\]|\\.)+/gi,
  /(?<=\\"(?:authorization|(?:set-)?cookie|password|passwd|secret|client_secret|token|access_token|refresh_token|id_token|private_key|api_?key|x-api-key)\\":\s?\\")[^"\\]+/gi,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----/gs,
];

/** A log line without credentials. */
export function redacted(line: string): string {
  return credentials.reduce((text, pattern) => text.replaceAll(pattern, hidden), line);
}

export function createLog(level: LogLevel, fields: LogFields = {}): Log {
  const out = logOutput();
  const paths = secrets.flatMap((name) => [name, `*.${name}`]);
  const options = { level, base: { ...fields }, redact: { paths, censor: hidden } };
  return wrap(pino(options, { write: (line: string) => out.write(redacted(line)) }));
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

/** A log that discards all lines, for tests and for tools that print their own output. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silentLog,
};

/** Faults that repeat at every attempt: the first is logged, the others are counted until the next success. */
export interface FaultLog {
  /** `place` identifies what failed; the same message at the same place is a repetition. */
  failed(place: string, what: string, details: Readonly<Record<string, unknown>>): void;
  worked(place: string): void;
}

export function createFaultLog(log: Log): FaultLog {
  const open = new Map<string, { readonly words: string; times: number }>();
  return {
    failed(place, what, details) {
      const words = `${what} ${String(details['reason'])}`;
      const known = open.get(place);
      if (known?.words === words) {
        known.times++;
        return;
      }
      open.set(place, { words, times: 1 });
      log.warn(what, details);
    },
    worked(place) {
      const known = open.get(place);
      if (known === undefined) return;
      open.delete(place);
      log.info('recovered', { place, failed: known.words, times: known.times });
    },
  };
}
