/** The input of the alarms: asks engine and devices at each check, and tests storage periodically in the background. */

import type { EngineClient } from '../automation/engine-client.ts';
import type { RuleStore } from '../automation/store/rule-store.ts';
import { type Clock, withTimeout } from '../base/clock.ts';
import type { DeviceLayer } from '../devices/device-layer.ts';
import { endingSoon } from '../devices/mqtt/certificates.ts';
import type { TableSample } from '../points/sample.ts';
import { EngineWatch } from './engine-watch.ts';
import type { AlarmLimits } from './limits.ts';
import { type FailingReceiver, noProbes, type Probes, type SiteNow } from './site-now.ts';

export interface SiteViewerParts {
  readonly clock: Clock;
  readonly limits: AlarmLimits;
  readonly sample: () => Promise<TableSample | null>;
  readonly channels: DeviceLayer['channels'];
  /** Of channels, and of a database server. */
  readonly certificates: DeviceLayer['certificates'];
  readonly pointErrors: DeviceLayer['errors'];
  readonly engine: Pick<EngineClient, 'ask' | 'restarts' | 'status'>;
  readonly rules: Pick<RuleStore, 'names'>;
  readonly standbyMissing: () => boolean | null;
  readonly clockAheadMs: () => number | null;
  readonly auditBroken: () => string | null;
  readonly silentWitnesses: () => SiteNow['silentWitnesses'];
  readonly failedForecasts: () => SiteNow['failedForecasts'];
  readonly failingReceivers: () => readonly FailingReceiver[] | null;
  /** Whether the audit log can store an event. */
  readonly auditWritable: () => Promise<boolean>;
  /** An empty commit. */
  readonly commit: () => Promise<void>;
  /** Of the data directory. */
  readonly freeBytes: () => Promise<number>;
  /** Whether the last attempt to store recorded values succeeded; throws while none are recorded. */
  readonly historyStored: () => Promise<boolean>;
  /** When the last backup was made, in wall time; null if none is known of. */
  readonly lastBackupMs: () => number | null;
  readonly configurationValid: () => Promise<boolean>;
}

/** Names that one view reads; a rule beyond it is named by its number. */
const namesMax = 100;
/** Slow commits in a row after which storage is slow. */
const slowCommits = 3;

export class SiteViewer {
  readonly #parts: SiteViewerParts;
  #probes = noProbes;
  #probing = false;
  #probedMs: number | undefined;
  #slow = 0;
  readonly #engineWatch: EngineWatch;
  #restarts = 0;
  #restartedMs: number | null = null;

  constructor(parts: SiteViewerParts) {
    this.#parts = parts;
    this.#engineWatch = new EngineWatch(parts.limits.engine_overloaded_ms);
  }

  async view(): Promise<SiteNow> {
    const { clock, sample, channels, auditBroken, silentWitnesses, failedForecasts, failingReceivers } = this.#parts;
    const nowMs = clock.monotonicMs();
    this.#probeWhenDue(nowMs);
    this.#countRestarts(nowMs);
    const [values, troubles, unusableInputs, failedCommands, grants, status] = await Promise.all([
      orNull(sample),
      orNull(() => this.#troubles()),
      orNull(() => this.#unusableInputs()),
      orNull(() => this.#parts.engine.ask('failedCommands', null)),
      orNull(() => this.#parts.engine.ask('grants', null)),
      orNull(() => this.#parts.engine.status()),
    ]);
    this.#engineWatch.look(nowMs, status);
    const errors = (failedCommands ?? []).length === 0 ? [] : ((await orNull(this.#parts.pointErrors)) ?? []);
    const failed = status?.rules_failed.map(({ id, code }) => ({ rule_id: id, code }));
    const unrunnable = failed === undefined ? null : await orNull(() => this.#named(failed));
    return {
      nowMs,
      sample: values,
      channels: channels(),
      endingCertificates: this.#endingCertificates(),
      troubles,
      unrunnable,
      unusableInputs,
      failedCommands,
      pointErrors: new Map(errors.map(({ index, message }) => [index, message])),
      grants,
      engineRestartedMs: this.#restartedMs,
      missedTicks: this.#engineWatch.missedShare(),
      executionsLostMs: this.#engineWatch.recordsLostMs(),
      standbyMissing: this.#parts.standbyMissing(),
      clockAheadMs: this.#parts.clockAheadMs(),
      auditBroken: auditBroken(),
      silentWitnesses: silentWitnesses(),
      failedForecasts: failedForecasts(),
      failingReceivers: failingReceivers(),
      probes: this.#probes,
    };
  }

  #endingCertificates(): SiteNow['endingCertificates'] {
    const { clock, limits, certificates } = this.#parts;
    const all = certificates();
    const ending = endingSoon(all, limits.certificate_notice_ms, clock.wallMs());
    return ending.length === 0 && all.some(({ validity }) => validity === null) ? null : ending;
  }

  #countRestarts(nowMs: number): void {
    const restarts = this.#parts.engine.restarts();
    if (restarts > this.#restarts) this.#restartedMs = nowMs;
    // Fewer than before: the engine was restarted.
    this.#restarts = restarts;
  }

  async #troubles(): Promise<NonNullable<SiteNow['troubles']>> {
    const { engine, limits } = this.#parts;
    return this.#named(await engine.ask('troubles', { runs: limits.rule_runs, ms: limits.rule_ms }));
  }

  async #unusableInputs(): Promise<NonNullable<SiteNow['unusableInputs']>> {
    const found = await this.#parts.engine.ask('unusableInputs', null);
    if (found.length === 0) return [];
    const readers = new Set(found.flatMap(({ rule_ids: ids }) => ids));
    const names = await this.#parts.rules.names([...readers].slice(0, namesMax));
    return found.map(({ point, rules, rule_ids: ids }) => ({
      point,
      rules,
      names: ids.map((id) => names.get(id) ?? String(id)),
    }));
  }

  /** With the names of the rules. */
  async #named<T extends { readonly rule_id: number }>(found: readonly T[]): Promise<(T & { name: string })[]> {
    if (found.length === 0) return [];
    const names = await this.#parts.rules.names(found.map(({ rule_id: id }) => id));
    return found.map((each) => ({ ...each, name: names.get(each.rule_id) ?? String(each.rule_id) }));
  }

  /** In the background: a hanging disk must not delay other alarms. */
  #probeWhenDue(nowMs: number): void {
    const { probe_interval_ms: intervalMs } = this.#parts.limits;
    if (this.#probing || (this.#probedMs !== undefined && nowMs - this.#probedMs < intervalMs)) return;
    this.#probing = true;
    this.#probedMs = nowMs;
    void this.#probe().finally(() => {
      this.#probing = false;
    });
  }

  #backup(): Probes['backup'] {
    const { clock, limits, lastBackupMs } = this.#parts;
    const { backup_overdue_ms: overdueMs } = limits;
    if (overdueMs === 0) return { lastMs: null, isOverdue: false };
    const lastMs = lastBackupMs();
    // One from the future was made while the clock was wrong, and says nothing about the days since.
    return { lastMs, isOverdue: lastMs === null || Math.abs(clock.wallMs() - lastMs) > overdueMs };
  }

  async #probe(): Promise<void> {
    const { clock, limits, auditWritable, commit, freeBytes, historyStored, configurationValid } = this.#parts;
    const inTime = async <T>(work: () => Promise<T>): Promise<T | null> =>
      (await withTimeout(clock, limits.probe_timeout_ms, orNull(work))) ?? null;
    const writable = await inTime(auditWritable);
    const beganMs = clock.monotonicMs();
    const committed = await inTime(() => commit().then(() => true));
    const isSlow = committed === null || clock.monotonicMs() - beganMs > limits.storage_slow_ms;
    this.#slow = isSlow ? this.#slow + 1 : 0;
    this.#probes = {
      auditWritable: writable === true,
      storageSlow: this.#slow >= slowCommits,
      freeBytes: await inTime(freeBytes),
      historyStored: (await inTime(historyStored)) === true,
      backup: this.#backup(),
      configurationValid: await inTime(configurationValid),
    };
  }
}

/** Null for a part that is unavailable or fails. */
async function orNull<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch {
    return null;
  }
}
