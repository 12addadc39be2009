/** The recorded past of the demo, made once: each `npm start` in a fresh folder would spend ten seconds of a core on it. */
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compiledOnce, programFile, root, waitFor } from '../e2e/running-service.ts';

const file = 'history.sqlite';
const fillDeadlineMs = 60_000;

export interface DemoPast {
  /** Puts it into the data directory of a service that did not run yet. */
  copyTo(dataDir: string): void;
  remove(): void;
}

export async function recordDemoPast(): Promise<DemoPast> {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-demo-past-'));
  const settings = { SVC_DATA_DIR: folder, SVC_HTTP_PORT: '0', SVC_FORECASTER_PORT: '0', SVC_LOG_LEVEL: 'info' };
  const env = { ...process.env, ...compiledOnce, ...settings };
  const demo = spawn(process.execPath, [programFile('start')], { cwd: root, env });
  const ended = new Promise((resolve) => demo.on('exit', resolve));
  let output = '';
  demo.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()));
  demo.stderr.on('data', (bytes: Buffer) => (output += bytes.toString()));
  try {
    await waitFor(() => output.includes('demo history filled'), fillDeadlineMs);
  } finally {
    demo.kill('SIGTERM');
    await ended;
  }
  return {
    copyTo(dataDir) {
      mkdirSync(dataDir);
      copyFileSync(join(folder, file), join(dataDir, file));
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
