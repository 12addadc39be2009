/** A scan among polls and commands [points §8.6]: it ends at its deadline, and at the first request that its unit does not answer. */
import type { Clock } from '../../base/clock.ts';
import { deadline, timeIsUp, untilAborted } from '../../base/deadline.ts';
import { Fault } from '../../base/fault.ts';
import type { AskUnit } from './modbus-client.ts';
import { blameOf, exceptionName, type ModbusAnswer, type ModbusRequest } from './modbus-frame.ts';

/** The device's answer, or why there was none. */
export type AskInTurn = (unit: number, request: ModbusRequest) => Promise<ModbusAnswer | string>;

/** What `scan` makes of the answers. Throws a Fault if the unit does not answer, or not in `timeoutMs`. */
export async function scanInTime<T>(
  askInTurn: AskInTurn,
  clock: Clock,
  timeoutMs: number,
  scan: (ask: AskUnit) => Promise<T>,
): Promise<T> {
  const limit = deadline(clock, timeoutMs);
  const ask: AskUnit = async (unit, request) => {
    limit.signal.throwIfAborted();
    const answer = await askInTurn(unit, request);
    if (typeof answer === 'string') throw silent(unit, answer);
    if (answer.kind === 'exception' && blameOf(answer.code) === 'unit') throw silent(unit, exceptionName(answer.code));
    return answer;
  };
  try {
    return await untilAborted(scan(ask), limit.signal);
  } catch (error) {
    if (error instanceof Fault || !timeIsUp(limit.signal)) throw error;
    const message = `the scan did not end within ${timeoutMs} ms (scan_timeout_ms): scan fewer registers at once`;
    throw new Fault('deadline-exceeded', message);
  } finally {
    limit.cancel();
  }
}

function silent(unit: number, reason: string): Fault {
  return new Fault('engine-unavailable', `unit ${unit} does not answer: ${reason}`);
}
