/** The process's own terminal, as the command line sees it. */
import { createInterface } from 'node:readline/promises';
import type { Terminal } from '../cli/terminal.ts';
import type { Environment } from './environment.ts';

export function processTerminal(env: Environment): Terminal {
  const { stdin, stdout, stderr } = process;
  // no-color.org; a terminal that calls itself dumb shows the codes.
  const plain = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  return {
    stdout,
    out: (text) => void stdout.write(text),
    error: (text) => void stderr.write(text),
    outIsTerminal: stdout.isTTY,
    errorIsTerminal: stderr.isTTY,
    colour: stdout.isTTY && !plain,
    async ask(question) {
      if (!stdin.isTTY || !stderr.isTTY) return null;
      const reader = createInterface({ input: stdin, output: stderr });
      try {
        return /^y(es)?$/i.test((await reader.question(`${question} [y/N] `)).trim());
      } finally {
        reader.close();
      }
    },
  };
}
