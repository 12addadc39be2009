/** The historian of a running service: recording in a thread of its own, reading where it is asked (house, "Threads"). */
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Historian } from '../historian/historian.ts';
import type { HistoryLimits } from '../historian/limits.ts';
import { recordedPoints } from '../historian/look.ts';
import { openHistorian } from '../historian/open-historian.ts';
import { type Recording, startRecording } from '../historian/recording.ts';
import type { PointMemory } from '../points/shared-memory.ts';
import type { Site } from '../points/site.ts';
import { databaseFile } from '../storage/data-files.ts';
import type { ServiceConfig } from './config.ts';

export interface ServiceHistory {
  readonly recording: Recording;
  /** Reads only: what is written goes through the recording. */
  readonly reader: Pick<Historian, 'snapshot' | 'export'>;
  stop(): Promise<void>;
}

export function startHistory(
  config: ServiceConfig,
  site: Site,
  memory: PointMemory,
  limits: HistoryLimits,
  log: Log,
): ServiceHistory {
  const file = databaseFile(config.dataDir, 'history');
  const setup = {
    points: recordedPoints(site.points),
    tableSize: site.points.length,
    memory,
    recordIntervalMs: site.history.recordIntervalMs,
    retentionDays: site.history.retentionDays,
    limits,
  };
  const { logLevel } = config;
  const recording = startRecording({ setup, file, logLevel, clock: systemClock, log: log.with({ area: 'history' }) });
  const reader = openHistorian(file, limits);
  return {
    recording,
    reader,
    async stop() {
      reader.close();
      await recording.stop();
    },
  };
}
