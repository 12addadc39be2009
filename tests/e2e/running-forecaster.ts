/** A real forecaster for tests: `node src/bin/forecaster.ts` as a child process on a free port. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processorMediaType } from '../../src/api/processing.ts';
import { compiledOnce, type Json, programFile, waitFor } from './running-service.ts';

interface ForecasterReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Assertions inspect the answers, and do not need their exact type.
  readonly body: Json;
}

export interface TestForecaster {
  readonly url: string;
  health(): Promise<ForecasterReply>;
  process(body: Uint8Array, headers?: Readonly<Record<string, string>>): Promise<ForecasterReply>;
  logs(): string;
  /** Milliseconds of processor time so far, all threads. */
  computedMs(): number;
  stop(): Promise<number | null>;
}

/** `tasks`: texts by file name. */
export function taskFolder(tasks: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-forecaster-'));
  for (const [name, text] of Object.entries(tasks)) writeFileSync(join(folder, name), text);
  return folder;
}

const startDeadlineMs = 40_000;

export async function startTestForecaster(
  tasks: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
): Promise<TestForecaster> {
  const folder = taskFolder(tasks);
  const child = spawn(process.execPath, [programFile('forecaster')], {
    env: {
      PATH: process.env['PATH'],
      ...compiledOnce,
      SVC_FORECASTER_PORT: '0',
      SVC_FORECASTER_TASKS: folder,
      ...more,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)));
  const port = await waitFor(() => {
    if (child.exitCode !== null) throw new Error(`the forecaster ended with ${child.exitCode}: ${output}`);
    return /"port":(\d+).*"msg":"listening"/.exec(output)?.[1];
  }, startDeadlineMs);
  const url = `http://127.0.0.1:${port}`;

  const replyOf = async (response: Response): Promise<ForecasterReply> => {
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as Json };
  };
  return {
    url,
    health: async () => replyOf(await fetch(`${url}/v1/health`)),
    process: async (body, headers = {}) =>
      replyOf(
        await fetch(`${url}/v1/process`, {
          method: 'POST',
          headers: { 'content-type': processorMediaType, ...headers },
          body: Buffer.from(body),
        }),
      ),
    logs: () => output,
    computedMs() {
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ');
      // Ticks of 10 ms, in user and in system mode.
      return (Number(fields[11]) + Number(fields[12])) * 10;
    },
    async stop() {
      if (child.exitCode === null) child.kill('SIGTERM');
      const code = await exited;
      rmSync(folder, { recursive: true, force: true });
      return code;
    },
  };
}
