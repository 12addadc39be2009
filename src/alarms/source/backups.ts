/** A backup that was not made when it was due. Without the alarm, a job that has stopped is noticed when its backup is needed. */
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
        message: `${lastBackup(backup?.lastMs ?? null)} Check what runs setpoint backup.`,
      }),
      raw: backup === null ? null : backup.isOverdue,
      delayMs: 0,
    },
  ],
};

function lastBackup(lastMs: number | null): string {
  return lastMs === null
    ? 'No backup of the data directory is known.'
    : `The last one was made at ${timeLabel(lastMs)}.`;
}
