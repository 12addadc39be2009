/**
 * The heartbeat [alarms §5.1]: regular requests to an outside monitor while alarms are evaluated and can be sent. A machine that is dead or
 * cut off cannot send an alarm; the monitor raises one when the requests stop.
 */
import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { Log } from '../../base/log.ts';
import { type Repeated, repeatedly } from '../../base/repeatedly.ts';
import type { AlarmLimits } from '../limits.ts';

export interface HeartbeatParts {
  /** Throws an Error with the reason if the monitor did not accept it. */
  readonly send: () => Promise<void>;
  /** Whether alarms were evaluated and stored lately, by this process. */
  readonly watches: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<AlarmLimits, 'heartbeat_ms'>;
}

export function startHeartbeat({ send, watches, clock, log, limits }: HeartbeatParts): Repeated {
  const beat = async (): Promise<void> => {
    if (!watches()) return;
    try {
      await send();
    } catch (error) {
      throw new Fault('provider-unavailable', error instanceof Error ? error.message : String(error));
    }
  };
  return repeatedly(clock, limits.heartbeat_ms, log, beat, 'the heartbeat was not accepted; trying again');
}
