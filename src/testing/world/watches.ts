/** Repeated checks of the world in addition to the records: that rules see their points, and that devices are read. */
import { rowsOf } from '../../automation/run-blocks.ts';
import { usable } from '../../site/snapshot.ts';
import type { Invariants } from './invariants.ts';
import type { Plant, PlantDevice } from './plant.ts';
import type { SiteProcess } from './site-process.ts';
import { worldSite } from './world-site.ts';

/** How often all stored runs are unpacked. */
const storedEveryMs = 60_000;

export class Watches {
  readonly #plant: Plant;
  readonly #invariants: Invariants;
  readonly #now: () => number;
  /** By point: its value and since when it has been that. */
  readonly #steady = new Map<number, { value: number; sinceMs: number }>();
  readonly #readsBefore = new Map<string, number>();
  /** When stored runs were last checked. */
  #lookedMs = 0;
  /** Rules and revisions that had not seen their point's value, and when that was first noticed. */
  readonly #missing = new Map<string, number>();

  constructor(plant: Plant, invariants: Invariants, now: () => number) {
    this.#plant = plant;
    this.#invariants = invariants;
    this.#now = now;
  }

  /** Once a second. */
  points(site: SiteProcess | undefined): void {
    const snapshot = site?.snapshot();
    if (snapshot === undefined || snapshot === null) return this.#steady.clear();
    for (const point of worldSite.points) {
      const value = snapshot.values[point.index] ?? Number.NaN;
      const isUsable = usable(snapshot, point.index, point.maxAgeMs);
      const known = this.#steady.get(point.index);
      if (!isUsable) this.#steady.delete(point.index);
      else if (known?.value !== value) this.#steady.set(point.index, { value, sinceMs: this.#now() });
    }
  }

  /**
   * On-change rules that nothing holds back have seen what their point has been for three seconds. One that has not is looked at
   * once more: it may have been enabled a moment ago, by an order that a stalled engine took up together with this question.
   */
  async seen(site: SiteProcess, ruleIds: readonly number[], isAlive: () => boolean): Promise<void> {
    const statuses = await site.engine.ask('explain', { ruleIds });
    for (const status of statuses) {
      const row = status === null ? null : await site.store.get(status.rule_id);
      if (status === null || row === null || !status.enabled || status.state !== 'waiting' || row.cooldown_ms > 0)
        continue;
      const trigger = row.trigger_config ?? '';
      if (!trigger.includes('"time_deadband_ms":0') || !trigger.includes('"value_deadband":null')) continue;
      const [point] = status.points;
      const facts = worldSite.points.find(
        (each) => each.instance === point?.instance && each.kind === point.point_type && each.id === point.point,
      );
      const steady = facts === undefined ? undefined : this.#steady.get(facts.index);
      if (steady === undefined || this.#now() - steady.sinceMs < 3000 || !isAlive()) continue;
      const missed = this.#invariants.missed(row.id, trigger, steady);
      const key = `${row.id}@${row.revision}`;
      const sinceMs = this.#missing.get(key);
      if (missed === null) this.#missing.delete(key);
      else if (sinceMs === undefined) this.#missing.set(key, this.#now());
      else if (this.#now() - sinceMs > 3000) this.#invariants.violate(missed);
    }
  }

  /** Those that ran up to `untilMs`, once in a while; later ones may still be waiting. */
  async storedRuns(site: SiteProcess, untilMs: number): Promise<void> {
    if (this.#now() - this.#lookedMs < storedEveryMs) return;
    this.#lookedMs = this.#now();
    const due = this.#invariants.dueInStore();
    const ids = [...due].filter(([, atMs]) => atMs <= untilMs).map(([id]) => id);
    if (ids.length === 0) return;
    const blocks = await site.runtime.query
      .selectFrom('execution_block')
      .selectAll()
      .where(
        'last_id',
        '>=',
        ids.reduce((a, b) => (a < b ? a : b)),
      )
      .execute();
    const found = new Set(blocks.flatMap((block) => rowsOf(block).map((row) => row.execution_id)));
    this.#invariants.stored(ids, found);
  }

  broken(device: PlantDevice): void {
    this.#readsBefore.delete(device.name);
  }

  /** Every five seconds: a device that answers, however slowly, is read, whatever is commanded. */
  reads(site: SiteProcess | undefined): void {
    for (const [position, device] of this.#plant.devices.entries()) {
      const answers = ['none', 'slow', 'doubled', 'closing'].includes(device.fault);
      const isOnline = site !== undefined && Atomics.load(site.memory.online, position) === 1;
      const before = this.#readsBefore.get(device.name);
      if (answers && isOnline && before === device.reads)
        this.#invariants.violate(`${device.name} answers and was not read for 5 s`);
      if (device.doubledConnections > 1)
        this.#invariants.violate(`${device.name}: a doubled answer ended the connection`);
      this.#readsBefore.set(device.name, answers && isOnline ? device.reads : -1);
    }
  }
}
