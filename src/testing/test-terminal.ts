/** A terminal that records its output, and a program without a service or a data directory of its own. */
import { PassThrough } from 'node:stream';
import { systemClock } from '../base/clock.ts';
import { addOwnCommands, type OwnCommandParts } from '../cli/data-dir/index.ts';
import type { OwnCommands, ProgramParts } from '../cli/program.ts';
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
  /** The user's answer to every question; null without one. */
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

const unused = (): never => {
  throw new Error('not used');
};

export function programParts(terminal: Terminal, env: ProgramParts['env'] = {}): ProgramParts {
  return {
    terminal,
    clock: systemClock,
    env,
    version: '1.2.3',
    interrupted: new AbortController().signal,
    serve: unused,
    mcp: unused,
    ownCommands: () => Promise.resolve(commandsWithoutService(terminal)),
  };
}

/** Commands that need no service, of a site that no test uses. */
export function commandsWithoutService(terminal: Terminal): OwnCommands {
  const parts: OwnCommandParts = {
    terminal,
    clock: systemClock,
    version: '1.2.3',
    untilStopped: () => Promise.resolve(),
    osUser: () => 'tester (uid 1)',
    settings: unused,
    site: unused,
    checkSite: unused,
    testReceivers: unused,
    siteDatabase: unused,
    namedDatabase: unused,
    lockDataDir: unused,
    rulesMax: unused,
  };
  return { addTo: (setpoint, groups) => addOwnCommands(setpoint, groups, parts), isExpected: () => false };
}
