/** A terminal that records its output, and a program without a service or a data directory of its own. */
import { PassThrough } from 'node:stream';
import { systemClock } from '../base/clock.ts';
import type { ProgramParts } from '../cli/program.ts';
import type { Terminal } from '../cli/terminal.ts';

export interface TestTerminal {
  readonly terminal: Terminal;
  readonly asked: readonly string[];
  out(): string;
  error(): string;
}

export interface TerminalChoices {
  readonly isTerminal?: boolean;
  readonly colour?: boolean;
  /** The person's answer to every question; null without one. */
  readonly answer?: boolean | null;
}

export function testTerminal({
  isTerminal = false,
  colour = false,
  answer = null,
}: TerminalChoices = {}): TestTerminal {
  const [out, error, asked]: [string[], string[], string[]] = [[], [], []];
  const terminal: Terminal = {
    stdout: new PassThrough(),
    out: (text) => void out.push(text),
    error: (text) => void error.push(text),
    outIsTerminal: isTerminal,
    errorIsTerminal: false,
    colour,
    ask(question) {
      asked.push(question);
      return Promise.resolve(answer);
    },
  };
  return { terminal, asked, out: () => out.join(''), error: () => error.join('') };
}

export function programParts(terminal: Terminal, env: ProgramParts['env'] = {}): ProgramParts {
  const unused = (): never => {
    throw new Error('not used');
  };
  return {
    terminal,
    clock: systemClock,
    env,
    version: '1.2.3',
    interrupted: new AbortController().signal,
    untilStopped: () => Promise.resolve(),
    osUser: () => 'tester (uid 1)',
    settings: unused,
    site: unused,
    checkSite: unused,
    siteDatabase: unused,
    lockDataDir: unused,
    rulesMax: unused,
    serve: unused,
    mcp: unused,
    isExpected: () => false,
  };
}
