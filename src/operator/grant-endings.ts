/** Records overrides and limits that ended by themselves [points §7.1]; each is tried until the audit log has taken it. */
import type { AuditLog } from '../audit/log.ts';
import type { EndedGrant } from '../automation/store/authority-store.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { newId } from '../base/id.ts';
import type { Log } from '../base/log.ts';
import { timeLabel } from '../base/timestamp.ts';
import { grantView } from './grants.ts';

export interface GrantEndings {
  take(ended: readonly EndedGrant[]): void;
  stop(): void;
}

export interface GrantEndingsParts {
  readonly audit: Pick<AuditLog, 'append'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the end is recorded: the engine need not report it again. */
  readonly forget: (ids: readonly string[]) => Promise<unknown>;
}

/** Pause before an end is recorded again that could not be. */
const retryMs = 1000;

export function recordGrantEndings(parts: GrantEndingsParts): GrantEndings {
  return new RetriedEndings(parts);
}

class RetriedEndings implements GrantEndings {
  readonly #parts: GrantEndingsParts;
  /** Ends that are not recorded yet, by id: a restarted engine reports the same ends again. */
  readonly #waiting = new Map<string, EndedGrant>();
  #working = false;
  #timer: Timer | undefined;
  #stopped = false;
  #failing = false;

  constructor(parts: GrantEndingsParts) {
    this.#parts = parts;
  }

  take(ended: readonly EndedGrant[]): void {
    for (const each of ended) this.#waiting.set(each.grant.id, each);
    void this.#work();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #work(): Promise<void> {
    if (this.#working || this.#stopped) return;
    this.#working = true;
    try {
      for (const ended of this.#waiting.values()) {
        await this.#parts.audit.append(entryOf(ended));
        this.#waiting.delete(ended.grant.id);
        this.#failing = false;
        await this.#parts.forget([ended.grant.id]);
      }
    } catch (error) {
      if (!this.#failing) this.#parts.log.error('cannot record the end of an override', { error: String(error) });
      this.#failing = true;
      this.#timer = this.#parts.clock.after(retryMs, () => void this.#work());
    } finally {
      this.#working = false;
    }
  }
}

function entryOf({ grant, endedMs }: EndedGrant): Parameters<AuditLog['append']>[0] {
  return {
    subject: { kind: 'system', subjectId: 'setpoint' },
    action: 'automation.point.expire',
    resource: { kind: 'automation-point', resourceId: pointResourceId(grant.instance, grant.point) },
    outcome: 'succeeded',
    risk: 'high',
    confirmation: 'not-required',
    correlationId: newId(),
    details: { ...grantView(grant), state: 'expired', ended_at: timeLabel(endedMs) },
  };
}

export function pointResourceId(instance: number | string, point: number | string): string {
  return `automation-point:${instance}:A:${point}`;
}
