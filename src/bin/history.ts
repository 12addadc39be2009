/**
 * The historian of a running service: recording in a separate thread, reading on demand (ARCHITECTURE.md, "Threads"). In a
 * shared database, the leader records; all processes read.
 */
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type SharedRecording, shareRecording } from '../cluster/shared-recording.ts';
import { commandedPoints } from '../historian/commands.ts';
import type { HistoryReader } from '../historian/historian.ts';
import { historySpool } from '../historian/history-spool.ts';
import { recordedPoints } from '../historian/look.ts';
import { openHistorian } from '../historian/open-historian.ts';
import type { RecorderSetup } from '../historian/recorder.ts';
import type { Recording } from '../historian/recorder-protocol.ts';
import { type RecordingParts, startRecording } from '../historian/recording.ts';
import type { PointMemory } from '../points/shared-memory.ts';
import type { ReadSite } from '../site/site-in-force.ts';
import type { DatabasePlace } from '../storage/database.ts';
import type { RetentionCell } from '../storage/retention-clock.ts';
import { journalFolder } from '../storage/row-journal.ts';
import type { ServiceConfig, ServiceLimits } from './config.ts';
import { historyDatabase } from './databases.ts';

export interface ServiceHistory {
  readonly recording: Recording;
  /** Null if this process records as long as it runs. */
  readonly shared: Pick<SharedRecording, 'begin' | 'end'> | null;
  /** Read-only: writes go through recording. */
  readonly reader: HistoryReader;
  stop(): Promise<void>;
}

export function startHistory(
  config: ServiceConfig,
  site: ReadSite,
  memory: PointMemory,
  limits: ServiceLimits,
  retention: RetentionCell,
  mainLog: Log,
): ServiceHistory {
  const place = historyDatabase(config, limits.storage);
  const log = mainLog.with({ area: 'history' });
  const setup = (): RecorderSetup => {
    const { points, history } = site();
    return {
      points: recordedPoints(points),
      commanded: commandedPoints(points),
      tableSize: points.length,
      memory,
      recordIntervalMs: history.recordIntervalMs,
      retentionDays: history.retentionDays,
      retention,
      limits: limits.history,
    };
  };
  const historian = openHistorian(place, limits.history, { standsMs: site().history.recordIntervalMs });
  const start = (
    at: DatabasePlace,
    folders: Pick<RecordingParts, 'journalFolder' | 'spoolFolder'>,
    earlier: 'unstored' | 'unknown',
  ): Recording =>
    startRecording({
      setup: () => ({ ...setup(), earlier }),
      place: at,
      ...folders,
      logLevel: config.logLevel,
      clock: systemClock,
      log,
    });
  const shared =
    typeof place === 'string'
      ? null
      : shareRecording({
          start: (epoch) => start({ ...place, epoch }, { journalFolder: null, spoolFolder: config.dataDir }, 'unknown'),
          spool: historySpool(config.dataDir),
          historian,
          clock: systemClock,
          log,
        });
  const recording =
    shared ?? start(place, { journalFolder: journalFolder(config.dataDir, 'history'), spoolFolder: null }, 'unstored');
  return {
    recording,
    shared,
    reader: {
      async snapshot(series) {
        await recording.settle(series);
        return historian.snapshot();
      },
    },
    async stop() {
      await recording.stop(true);
      await historian.close();
    },
  };
}
