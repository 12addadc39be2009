/** A backup that was not made when it was due. Without the alarm, a job that no longer runs shows when its backup is needed. */
import { timeLabel } from '../../base/timestamp.ts';
import { type AlarmSource, builtIn } from './source.ts';

export const backupAlarms: AlarmSource = {
  owns: (id) => id === 'backup-overdue',
  look: ({ probes: { backup } }) => [
    {
      facts: builtIn({
        id: 'backup-overdue',
        name: 'A backup is overdue',
        priority: 'medium',
        message: `${lastBackup(backup?.lastMs ?? null)} Look for the reason where setpoint backup is run.`,
      }),
      raw: backup === null ? null : backup.isOverdue,
      delayMs: 0,
    },
  ],
};

function lastBackup(lastMs: number | null): string {
  return lastMs === null
    ? 'The data directory names no backup that was made of it.'
    : `The last one was made at ${timeLabel(lastMs)}.`;
}
