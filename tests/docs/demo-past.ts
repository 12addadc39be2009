/** The recorded past of the demo, made once: each `npm start` in a fresh folder would spend ten seconds of a core on it. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, startTestService, testFolders, waitFor } from '../e2e/running-service.ts';

const file = 'history.sqlite';
const fillDeadlineMs = 60_000;

export interface DemoPast {
  /** Copies it into the data directory of a service that has not run yet. */
  copyTo(dataDir: string): void;
  remove(): void;
}

export async function recordDemoPast(): Promise<DemoPast> {
  const folders = testFolders('');
  const env = { SVC_CONFIG_DIR: join(root, 'config', 'demo'), SVC_LOG_LEVEL: 'info', SVC_FORECASTER_PORT: '0' };
  const demo = await startTestService(folders, env, 'start');
  try {
    await waitFor(() => demo.logs().includes('demo history filled'), fillDeadlineMs);
  } finally {
    await demo.stop();
  }
  return {
    copyTo(dataDir) {
      mkdirSync(dataDir);
      copyFileSync(join(folders.data, file), join(dataDir, file));
    },
    remove: folders.remove,
  };
}
