/**
 * The world: a seed decides the requests of engineers, the faults and the kills of the service, on simulated time. The same seed
 * and the same code give the same trace. The invariants are in `invariants.ts`.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { automationLimits } from '../../automation/limits.ts';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { nextTurn } from '../../base/turns.ts';
import { Hands } from './hands.ts';
import { Invariants } from './invariants.ts';
import { isMember } from './member.ts';
import { drawBody, isOfOneRule, pickOperation, queries } from './operations.ts';
import { Operator } from './operator.ts';
import { createPlant, deviceFaults } from './plant.ts';
import { type Random, seededRandom } from './random.ts';
import { type Disk, type SiteProcess, startSite } from './site-process.ts';
import { Watches } from './watches.ts';
import { isDone, type ProcessClock, WorldClock } from './world-clock.ts';

export interface WorldResult {
  readonly seed: number;
  readonly simulatedMs: number;
  readonly realMs: number;
  readonly faults: number;
  readonly kills: number;
  readonly executions: number;
  readonly calls: number;
  readonly violations: readonly string[];
  /** SHA-256 of the trace: what happened, and when. */
  readonly digest: string;
}

const tickMs = 100;
const startWithinMs = 60_000;
/** Of the real event loop; a start that waits for nothing on simulated time takes a few. */
const startTurnsMaximum = 100_000;

/** Receives the trace as it is made. */
export type TraceListener = (atMs: number, kind: string, what: string) => void;

/** Everything random; each source draws from its own sequence, so that one may be left out. */
export const happenings = ['clients', 'devices', 'disk', 'layer', 'stall', 'kill', 'hands'] as const;
export type Happening = (typeof happenings)[number];

export interface WorldOptions {
  readonly listen?: TraceListener;
  readonly without?: readonly Happening[];
}

export async function runWorld(
  seed: number,
  hours: number,
  realNow: () => number,
  options: WorldOptions = {},
): Promise<WorldResult> {
  const world = new World(seed, options);
  const begunMs = realNow();
  try {
    await world.run(hours * 3_600_000);
  } finally {
    await world.end();
  }
  return { ...world.result(), realMs: realNow() - begunMs };
}

class World {
  readonly #seed: number;
  readonly #clock = new WorldClock();
  readonly #outside: ProcessClock = this.#clock.process();
  readonly #trace = createHash('sha256');
  readonly #hands = new Hands(() => this.#clock.nowMs);
  readonly #invariants = new Invariants(() => this.#clock.nowMs, this.#hands);
  readonly #folder = mkdtempSync(join(tmpdir(), 'setpoint-world-'));
  readonly #disk: Disk = { delayMs: 1, isFull: false };
  readonly #random: Random;
  readonly #plant;
  readonly #watches;
  readonly #operator;
  /** Rules by id, with the revision that was last acknowledged; null when they were deleted. */
  readonly #rules = new Map<number, number | null>();
  /** The last fault of each device and of the disk, by its number. */
  readonly #struck = new Map<string, number>();
  /** Rules whose deletion was requested, while its outcome is not known. */
  readonly #deleting = new Set<number>();
  #life = 0;
  #site: SiteProcess | undefined;
  #alive: ProcessClock | undefined;
  #killAtCommit = 0;
  #killing = false;
  #startedMs = 0;
  /** The engine of this life's start still runs: its ticks are those since then. */
  #isFirstEngine = true;
  #counts = { faults: 0, kills: 0, executions: 0, calls: 0 };
  #orders = 0;
  #uncaught = (error: unknown): void => this.#invariants.violate(`an error that nobody caught: ${String(error)}`);

  readonly #options: WorldOptions;

  constructor(seed: number, options: WorldOptions) {
    this.#seed = seed;
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#plant = createPlant(this.#random.fork('plant'), this.#outside, (write) => {
      this.#note('write', `${write.device} ${write.register} ${write.raw}`);
      this.#invariants.written(write);
    });
    this.#watches = new Watches(this.#plant, this.#invariants, () => this.#clock.nowMs);
    this.#operator = new Operator({
      hands: this.#hands,
      invariants: this.#invariants,
      plant: this.#plant,
      now: () => this.#clock.nowMs,
      clock: this.#outside,
      note: (kind, what) => this.#note(kind, what),
    });
  }

  async run(durationMs: number): Promise<void> {
    const untilMs = this.#clock.nowMs + durationMs;
    await this.#start();
    this.#every(1000, () => this.#plant.live());
    this.#sometimes(3000, 'clients', (random) => void this.#engineer(random));
    this.#sometimes(20_000, 'hands', (random) => this.#takeInHand(random));
    this.#sometimes(60_000, 'devices', (random) => this.#breakDevice(random));
    this.#sometimes(120_000, 'disk', (random) => this.#breakDisk(random));
    this.#sometimes(30_000, 'layer', () => void this.#restartDevices());
    this.#sometimes(120_000, 'stall', (random) => this.#stall(random));
    this.#sometimes(400_000, 'kill', (random) => this.#planKill(random));
    this.#every(10_000, () => {
      // An engine that is restarting does not answer for a moment.
      this.#look().catch((error: unknown) => error instanceof Fault || this.#uncaught(error));
    });
    this.#every(1000, () => this.#watches.points(this.#site));
    this.#every(5000, () => this.#watches.reads(this.#site));
    this.#every(1000, () => this.#operator.look());
    for (;;) {
      try {
        if (!this.#clock.step(untilMs)) return;
      } catch (error) {
        this.#uncaught(error);
      }
      await nextTurn(systemClock);
      if (this.#killing) await this.#kill();
      if (this.#invariants.violations.length > 0) return;
    }
  }

  async end(): Promise<void> {
    await this.#site?.kill(join(this.#folder, 'end'));
    this.#outside.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  result(): Omit<WorldResult, 'realMs'> {
    return {
      seed: this.#seed,
      simulatedMs: this.#clock.nowMs,
      ...this.#counts,
      violations: this.#invariants.violations,
      digest: this.#trace.digest('hex'),
    };
  }

  #note(kind: string, what: string): void {
    this.#options.listen?.(this.#clock.nowMs, kind, what);
    this.#trace.update(`${this.#clock.nowMs} ${kind} ${what}\n`);
  }

  #every(ms: number, task: () => void): void {
    this.#outside.after(ms, () => {
      task();
      this.#every(ms, task);
    });
  }

  #sometimes(meanMs: number, name: Happening, task: (random: Random) => void): void {
    if (this.#options.without?.includes(name) === true) return;
    const random = this.#random.fork(name);
    const next = (): void => {
      this.#outside.after(Math.ceil(random.wait(meanMs)), () => {
        task(random);
        next();
      });
    };
    next();
  }

  async #start(): Promise<void> {
    const folder = join(this.#folder, String(this.#life));
    mkdirSync(folder, { recursive: true });
    const clock = this.#clock.process();
    this.#alive = clock;
    const starting = startSite({
      folder,
      clock,
      random: this.#random.fork(`life ${this.#life}`),
      plant: this.#plant,
      disk: this.#disk,
      events: {
        onRecord: (record) => {
          this.#counts.executions++;
          const actions = record.actions_executed.map(({ point, written, reason }) => [
            point,
            written ?? null,
            reason ?? null,
          ]);
          this.#note(
            'run',
            JSON.stringify([
              record.rule_id,
              record.trigger.type,
              record.variable_values['x'] ?? null,
              record.outcome,
              actions,
            ]),
          );
          this.#invariants.record(record);
        },
        onDeath: (reason) => this.#invariants.violate(`the engine's thread ended: ${reason}`),
        onEnded: () => {
          this.#note('ended', '');
          this.#invariants.engineEnded();
          this.#isFirstEngine = false;
        },
        onCommit: () => {
          if (this.#killAtCommit > 0 && --this.#killAtCommit === 0) this.#killing = true;
        },
      },
    }).then(
      (site) => {
        this.#site = site;
        this.#isFirstEngine = true;
        this.#startedMs = this.#clock.nowMs;
      },
      (error: unknown) => this.#invariants.violate(`the service did not start: ${String(error)}`),
    );
    const done = isDone(starting);
    const untilMs = this.#clock.nowMs + startWithinMs;
    for (let turns = 0; !done.is && this.#clock.nowMs < untilMs && turns < startTurnsMaximum; turns++) {
      if (this.#clock.isWaiting) this.#clock.step(untilMs);
      await nextTurn(systemClock);
    }
    if (!done.is) this.#invariants.violate('the service did not start in time');
  }

  #takeInHand(random: Random): void {
    const [site, alive] = [this.#site, this.#alive];
    if (site === undefined) return;
    this.#counts.calls++;
    this.#operator.act(site, random, () => this.#alive === alive).catch(this.#uncaught);
  }

  #planKill(random: Random): void {
    // At a commit of its choice, or at once where nothing is being stored.
    this.#killAtCommit = 1 + random.below(5);
    this.#outside.after(5000, () => (this.#killing ||= this.#killAtCommit > 0));
  }

  async #kill(): Promise<void> {
    this.#killing = false;
    this.#killAtCommit = 0;
    const site = this.#site;
    if (site === undefined) return;
    this.#site = undefined;
    this.#counts.kills++;
    this.#fault();
    this.#note('kill', '');
    for (const device of this.#plant.devices) device.doubledConnections = 0;
    this.#life++;
    this.#disk.delayMs = 1;
    this.#disk.isFull = false;
    this.#invariants.killed();
    await site.kill(join(this.#folder, String(this.#life)));
    await this.#start();
    await this.#compare();
  }

  /** No acknowledged change is lost. */
  async #compare(): Promise<void> {
    const site = this.#site;
    if (site === undefined) return;
    for (const [id, revision] of this.#rules) {
      const row = await site.store.get(id);
      if (revision === null && row !== null) this.#invariants.violate(`rule ${id} was deleted and is there again`);
      // One that was being deleted may be gone, whether the request was answered or not.
      const mayBeGone = row === null && this.#deleting.has(id);
      if (revision !== null && !mayBeGone && (row === null || row.revision < revision))
        this.#invariants.violate(`rule ${id}: revision ${revision} was acknowledged and is lost`);
    }
    for (const id of this.#deleting) if ((await site.store.get(id)) === null) this.#rules.set(id, null);
    this.#deleting.clear();
  }

  /** Counted; until then nothing is certain to reach a device. */
  #fault(untilMs = this.#clock.nowMs): number {
    this.#operator.troubled(untilMs);
    return ++this.#counts.faults;
  }

  #breakDevice(random: Random): void {
    const device = random.pick(this.#plant.devices);
    const fault = random.pick(deviceFaults);
    device.fault = fault;
    device.exception = random.below(256);
    device.doubledConnections = 0;
    const struck = this.#fault();
    this.#struck.set(device.name, struck);
    this.#note('device', `${device.name} ${fault} ${device.exception}`);
    this.#watches.broken(device);
    this.#invariants.gap();
    this.#outside.after(500 + random.below(fault === 'slow' ? 40_000 : 15_000), () => {
      device.fault = 'none';
      this.#operator.troubled();
      this.#invariants.gap();
      const { reads } = device;
      // A device that has recovered is read again, whatever it did before.
      this.#outside.after(20_000, () => {
        // Unless it has failed again meanwhile.
        const isWell = device.fault === 'none' && this.#struck.get(device.name) === struck;
        if (isWell && device.reads === reads && this.#site !== undefined)
          this.#invariants.violate(`${device.name} is well and was not read for 20 s`);
      });
    });
  }

  #breakDisk(random: Random): void {
    const isFull = random.chance(0.5);
    this.#disk.isFull = isFull;
    this.#disk.delayMs = isFull ? 1 : 200 + random.below(3000);
    const struck = this.#fault();
    this.#note('disk', `${isFull} ${this.#disk.delayMs}`);
    this.#invariants.disk(true);
    this.#struck.set('disk', struck);
    this.#outside.after(500 + random.below(6000), () => {
      this.#disk.isFull = false;
      this.#disk.delayMs = 1;
      this.#operator.troubled();
      // Waiting rows are stored within some seconds, unless another fault occurred.
      this.#outside.after(4000, () => {
        if (this.#struck.get('disk') === struck) this.#invariants.disk(false);
      });
    });
  }

  #stall(random: Random): void {
    const untilMs = this.#clock.nowMs + 1000 + random.below(14_000);
    this.#fault(untilMs);
    this.#note('stall', String(untilMs));
    this.#site?.stallEngine(untilMs);
  }

  async #restartDevices(): Promise<void> {
    if (this.#site === undefined) return;
    this.#fault();
    this.#note('layer', '');
    for (const device of this.#plant.devices) device.doubledConnections = 0;
    this.#invariants.newGeneration();
    await this.#site.restartDevices();
  }

  /** Checks everything from time to time: ticks, queues, stored runs. */
  async #look(): Promise<void> {
    const site = this.#site;
    const alive = this.#alive;
    if (site === undefined) return;
    const status = await site.engine.status();
    if (status === null || this.#alive !== alive) return;
    const expected = (this.#clock.nowMs - this.#startedMs) / tickMs;
    if (this.#isFirstEngine && Math.abs(status.ticks + status.overruns - expected) > 3)
      this.#invariants.violate(`${status.ticks} ticks and ${status.overruns} overruns in ${expected} periods`);
    if (status.overruns > 0) this.#invariants.violate(`${status.overruns} ticks never happened on simulated time`);
    if (status.records_dropped > 0) this.#invariants.violate(`${status.records_dropped} records were dropped`);
    await this.#watches.seen(site, [...this.#rules.keys()], () => this.#site === site);
    if (this.#disk.isFull || this.#disk.delayMs > 1) return;
    // Rows that waited for more of their rule, and those in the journal of the previous life.
    const sinceMs = this.#clock.nowMs - this.#startedMs;
    if (sinceMs > 10_000)
      await this.#watches.storedRuns(site, this.#clock.nowMs - automationLimits.history_block_ms - 15_000);
  }

  /** One call of an engineer, through the pipeline. */
  async #engineer(random: Random): Promise<void> {
    const site = this.#site;
    if (site === undefined) return;
    const alive = this.#alive;
    const correlationId = `order-${++this.#orders}-0000`;
    const ids = [...this.#rules].filter(([, revision]) => revision !== null).map(([id]) => id);
    const operation = pickOperation(random, ids.length);
    const id = isOfOneRule(operation) && ids.length > 0 ? random.pick(ids) : null;
    const { body: drawn, isBranching } = drawBody(random, operation, this.#orders);
    const isQuery = queries.includes(operation);
    const body = isQuery ? null : drawn;
    this.#counts.calls++;
    if (operation === 'automation.rule.delete' && id !== null) this.#deleting.add(id);
    try {
      const params = id === null ? {} : { id: String(id) };
      const answer = await site.call(operation, params, body, correlationId);
      if (this.#alive !== alive) return;
      this.#note('call', `${operation} ${id} ok`);
      await this.#acknowledged(site, operation, id, answer, correlationId);
    } catch (error) {
      if (this.#alive !== alive) return;
      if (!(error instanceof Fault)) return this.#uncaught(error);
      this.#note('call', `${operation} ${id} ${error.code}`);
      if (isBranching && error.code === 'invalid-flow')
        this.#invariants.violate(`a flow was refused: ${error.message}`);
      if (error.code === 'internal-error') this.#invariants.violate(`${operation}: internal error`);
      if (operation === 'automation.rule.execute' && error.status === 503) this.#invariants.orderRefused(correlationId);
    }
  }

  async #acknowledged(
    site: SiteProcess,
    operation: string,
    asked: number | null,
    answer: unknown,
    correlationId: string,
  ): Promise<void> {
    if (queries.includes(operation) || operation === 'automation.scheduler.reload') return;
    const made =
      isMember(answer, 'data') && isMember(answer.data, 'data') && isMember(answer.data.data, 'id')
        ? Number(answer.data.data.id)
        : null;
    const id = asked ?? made;
    const events = await site.database.query
      .selectFrom('audit_event')
      .select('outcome')
      .where('correlation_id', '=', correlationId)
      .execute();
    const outcomes = new Set(events.map(({ outcome }) => outcome));
    if (!outcomes.has('accepted')) this.#invariants.violate(`${operation}: done without an accepted record`);
    if (id === null || operation === 'automation.rule.execute') return;
    if (operation === 'automation.rule.delete') {
      this.#deleting.delete(id);
      this.#rules.set(id, null);
      return;
    }
    const row = await site.store.get(id);
    if (row === null) return;
    this.#rules.set(id, row.revision);
    const facts = { cooldownMs: row.cooldown_ms, priority: row.priority, trigger: row.trigger_config ?? '' };
    this.#invariants.knows(id, row.revision, facts);
  }
}
