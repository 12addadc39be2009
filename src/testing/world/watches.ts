/** What the world looks at again and again beside the records: that points are seen, and that devices are read. */
import { usable } from '../../rules/snapshot.ts';
import type { Invariants } from './invariants.ts';
import type { Plant, PlantDevice } from './plant.ts';
import type { SiteProcess } from './site-process.ts';
import { worldSite } from './world-site.ts';

export class Watches {
  readonly #plant: Plant;
  readonly #invariants: Invariants;
  readonly #now: () => number;
  /** By point: its value and since when it has been that. */
  readonly #steady = new Map<number, { value: number; sinceMs: number }>();
  readonly #readsBefore = new Map<string, number>();

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

  /** On-change rules that nothing holds back have seen what their point has been for three seconds. */
  async seen(site: SiteProcess, ruleIds: readonly number[], isAlive: () => boolean): Promise<void> {
    const statuses = await site.engine.explain(ruleIds);
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
      if (steady === undefined || this.#now() - steady.sinceMs < 3000) continue;
      if (isAlive()) this.#invariants.steady(row.id, trigger, steady);
    }
  }

  broken(device: PlantDevice): void {
    this.#readsBefore.delete(device.name);
  }

  /** Every five seconds: a device that answers, however slowly, is read, whatever is commanded. */
  reads(site: SiteProcess | undefined): void {
    for (const [position, device] of this.#plant.devices.entries()) {
      const answers = ['none', 'slow', 'doubled'].includes(device.fault);
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
