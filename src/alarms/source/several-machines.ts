/** A site of several machines of which only one is left, or whose clocks differ. */
import { type AlarmSource, builtIn } from './source.ts';

export const severalMachinesAlarms: AlarmSource = {
  owns: (id) => id === 'standby-missing' || id === 'clock-differs',
  look: ({ standbyMissing, clockAheadMs }, limits) => [
    {
      facts: builtIn({
        id: 'standby-missing',
        name: 'No other machine can take over',
        priority: 'high',
        message:
          'The other processes of the site are not connected to the database server. If this one ends, nothing controls the site. Start them again, or restart this one if it is to stay alone.',
      }),
      raw: standbyMissing,
      delayMs: limits.standby_missing_ms,
    },
    {
      facts: builtIn({
        id: 'clock-differs',
        name: 'The clocks of this machine and of the database server differ',
        priority: 'medium',
        message: `${sideOf(clockAheadMs)} Other machines may refuse tokens made here, and records have other times than theirs. Synchronise the clocks.`,
      }),
      raw: clockAheadMs === null ? null : Math.abs(clockAheadMs) > limits.clock_differs_ms,
      delayMs: 0,
    },
  ],
};

function sideOf(aheadMs: number | null): string {
  const seconds = Math.round(Math.abs(aheadMs ?? 0) / 1000);
  return `The one of this machine is ${seconds} s ${(aheadMs ?? 0) < 0 ? 'behind' : 'ahead'}.`;
}
