/** A disk or database that is slow or stores no history, and a disk that is nearly full. */
import { type AlarmSource, builtIn } from './source.ts';

export const storageAlarms: AlarmSource = {
  owns: (id) => id === 'storage-slow' || id === 'disk-low' || id === 'history-not-stored',
  look: ({ probes: { storageSlow, freeBytes, historyStored } }, limits) => [
    {
      facts: builtIn({
        id: 'storage-slow',
        name: 'Storage is slow',
        priority: 'medium',
        message: 'Commits take long or fail. Changes wait for them; control does not.',
      }),
      raw: storageSlow,
      delayMs: 0,
    },
    {
      facts: builtIn({
        id: 'disk-low',
        name: 'The disk is nearly full',
        priority: 'high',
        message: 'When the disk of the data directory is full, changes are refused and nothing is recorded.',
      }),
      raw: freeBytes === null ? null : freeBytes < limits.disk_low_bytes,
      delayMs: 0,
    },
    {
      facts: builtIn({
        id: 'history-not-stored',
        name: 'History is not being stored',
        priority: 'high',
        message: 'Recorded values wait, and if too many do, the oldest are lost. The log has the reason.',
      }),
      raw: historyStored === null ? null : !historyStored,
      delayMs: limits.history_not_stored_ms,
    },
  ],
};
