/** The ladder of an action point [points §7]: what is written, by whom, until when; against a naive model too. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CommandWriter, LastCommand } from '../points/command-slots.ts';
import { type Arbiter, createArbiter } from '../rules/arbiter.ts';
import { Authority, type Grant } from '../rules/authority.ts';
import { Ownership } from '../rules/ownership.ts';
import type { PointFacts } from '../site/catalogue.ts';
import type { Command } from '../site/command-port.ts';
import { quality } from '../site/quality.ts';
import type { Snapshot } from '../site/snapshot.ts';
import type { StandingLimit } from '../site/standing-limits.ts';
import { testCatalogue } from '../testing/site-builder.ts';
import { AuthorityKeeper } from './authority-keeper.ts';
import { automationLimits } from './limits.ts';
import type { EndedGrant, SegmentRow } from './store/authority-store.ts';

const startWallMs = 1_700_000_000_000;
const by = { kind: 'user', id: 'ada' };

interface BenchOptions {
  readonly facts?: Partial<PointFacts>;
  readonly standing?: readonly StandingLimit[];
}

/** One actuator (instance 1, action 1), one measurement, an obedient device, and a store. */
class Bench {
  readonly catalogue;
  readonly point: PointFacts;
  readonly stored = new Map<string, Grant>();
  readonly segments = new Map<string, SegmentRow>();
  readonly commands: Command[] = [];
  readonly ended: EndedGrant[] = [];
  readonly standing;
  device: number | null = null;
  reading: number | null = null;
  safeWrites = 0;
  monotonicMs = 1000;
  wallMs = startWallMs;
  generation = 1;
  answer: 'accepted' | 'offline' = 'accepted';
  bounds: readonly [number, number] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  arbiter: Arbiter;
  keeper: AuthorityKeeper;
  #last: LastCommand | null = null;
  #ids = 0;

  constructor({ facts = {}, standing = [] }: BenchOptions = {}) {
    this.catalogue = testCatalogue({ min: 0, max: 100, ...facts });
    const point = this.catalogue.point({ instance: 1, point_type: 'action', point: 1 });
    if (point === undefined) throw new Error('the site has lost its point');
    this.point = point;
    this.standing = standing;
    [this.arbiter, this.keeper] = this.#start();
  }

  /** As after a crash: only what was stored is left. */
  restart(downMs = 0): void {
    this.wallMs += downMs;
    // Another process, another monotonic clock.
    this.monotonicMs = 50;
    const segments = [...this.segments.values()].filter(({ to_ms: toMs }) => toMs === null);
    [this.arbiter, this.keeper] = this.#start();
    this.keeper.restore([...this.stored.values()], segments);
  }

  advance(ms: number, wallJumpMs = 0): void {
    this.monotonicMs += ms;
    this.wallMs += ms + wallJumpMs;
  }

  /** One cycle with the writes of rules, in order of priority; returns for each whether it was allowed. */
  cycle(writes: readonly { rule: number; priority: number; value: number }[] = []): (string | null)[] {
    const snapshot = this.#snapshot();
    this.arbiter.beginCycle(snapshot);
    this.keeper.cycle(snapshot);
    const answers = writes.map(({ rule, priority, value }) => {
      const verdict = this.arbiter.ask(this.point, rule, priority);
      if (!verdict.allowed) return verdict.reason;
      const permitted = this.arbiter.permitted(this.point, value);
      this.#submit({
        pointIndex: this.point.index,
        value: permitted.value,
        priority,
        generation: this.generation,
        asked: value,
        by: { kind: 'rule', id: String(rule) },
      });
      this.arbiter.claim(this.point, rule, priority, permitted);
      return permitted.limitedBy === null ? null : 'limited';
    });
    this.keeper.flush();
    return answers;
  }

  override(value: number, seconds: number, untilMs = Number.POSITIVE_INFINITY): Promise<string> {
    return this.#grant({ kind: 'override', value }, seconds, untilMs);
  }

  limit(min: number | null, max: number | null, seconds: number): Promise<string> {
    return this.#grant({ kind: 'limit', min, max }, seconds, Number.POSITIVE_INFINITY);
  }

  view() {
    const [view] = this.keeper.view([this.point]);
    if (view === undefined || view === null) throw new Error('no view');
    return view;
  }

  async #grant(
    what: { kind: 'override'; value: number } | { kind: 'limit'; min: number | null; max: number | null },
    seconds: number,
    untilMs: number,
  ): Promise<string> {
    const id = `1.1.${++this.#ids}`;
    const span = { fromMs: this.wallMs, untilMs: this.wallMs + seconds * 1000 };
    await this.keeper.grant({ ...what, id, instance: 1, point: 1, by, reason: 'a test', ...span }, untilMs);
    return id;
  }

  #start(): [Arbiter, AuthorityKeeper] {
    const ladder = { authority: new Authority(this.standing), ownership: new Ownership() };
    const arbiter = createArbiter(ladder);
    const port: CommandWriter = {
      superseded: () => 0,
      submit: (command) => this.#submit(command),
      last: () => this.#last,
      bound: (_, low, high) => void (this.bounds = [low, high]),
      safeWrites: () => this.safeWrites,
    };
    const keeper = new AuthorityKeeper({
      catalogue: this.catalogue,
      arbiter,
      ladder,
      port,
      store: {
        put: async (grant, gone) => {
          for (const id of gone) this.stored.delete(id);
          this.stored.set(grant.id, grant);
        },
        remove: async (ids) => {
          for (const id of ids) this.stored.delete(id);
        },
      },
      limits: automationLimits,
      now: () => ({ monotonicMs: this.monotonicMs, wallMs: this.wallMs }),
      onEnded: (ended) => {
        this.ended.push(...ended);
        for (const { grant } of ended) this.stored.delete(grant.id);
      },
      onSegments: (rows) => {
        for (const row of rows) this.segments.set(`${row.point}@${row.from_ms}`, row);
      },
    });
    return [arbiter, keeper];
  }

  #submit(command: Command): 'accepted' | 'offline' {
    if (this.answer !== 'accepted') return this.answer;
    this.commands.push(command);
    this.device = command.value;
    const { asked, value, by: who } = command;
    this.#last = { asked, value, by: who, atMs: this.monotonicMs, result: 'written' };
    return 'accepted';
  }

  #snapshot(): Snapshot {
    const size = this.catalogue.points.length;
    const values = new Float64Array(size).fill(this.reading ?? Number.NaN);
    const codes = new Uint8Array(size).fill(this.reading === null ? quality.missing : quality.good);
    return {
      values,
      quality: codes,
      observedMs: new Float64Array(size).fill(this.monotonicMs),
      generation: this.generation,
      monotonicMs: this.monotonicMs,
      wallMs: this.wallMs,
    };
  }
}

describe('[points §7.1] an override', () => {
  test('is written at once, refuses rules, and at its end writes nothing: the rules take over', async () => {
    const bench = new Bench();
    bench.cycle([{ rule: 7, priority: 1, value: 10 }]);
    await bench.override(42, 5);
    expect(bench.cycle([{ rule: 7, priority: 999, value: 10 }])).toEqual(['overridden']);
    expect(bench.device).toBe(42);
    const before = bench.commands.length;
    bench.advance(4999);
    bench.cycle();
    expect(bench.commands.length).toBe(before + 1);
    bench.advance(1);
    bench.cycle();
    expect(bench.commands.length).toBe(before + 1);
    expect(bench.ended.map(({ endedMs }) => endedMs - startWallMs)).toEqual([5000]);
    expect(bench.cycle([{ rule: 7, priority: 1, value: 10 }])).toEqual([null]);
    expect(bench.device).toBe(10);
  });

  test.for([
    [automationLimits.override_repeat_ms, undefined],
    [250, 500],
  ] as const)(
    'is repeated every %d ms with a hold time of %s, and whenever the device layer restarts',
    async ([repeatMs, holdMaxMs]) => {
      const bench = new Bench({ facts: { holdMaxMs } });
      await bench.override(42, 60);
      const writes = (): number => {
        bench.cycle();
        return bench.commands.length;
      };
      expect(writes()).toBe(1);
      bench.advance(repeatMs - 1);
      expect(writes()).toBe(1);
      bench.advance(1);
      expect(writes()).toBe(2);
      bench.generation++;
      expect(writes()).toBe(3);
    },
  );

  test('is written when its channel is back', async () => {
    const bench = new Bench();
    bench.answer = 'offline';
    await bench.override(42, 60);
    bench.cycle();
    expect([bench.device, bench.view().owner.kind]).toEqual([null, 'override']);
    bench.answer = 'accepted';
    bench.advance(100);
    bench.cycle();
    expect(bench.device).toBe(42);
  });

  test('replaces the previous one, and a release affects only its own grant', async () => {
    const bench = new Bench();
    await bench.limit(null, 50, 60);
    const first = await bench.override(90, 60);
    const second = await bench.override(20, 60);
    expect([...bench.stored.keys()]).toEqual(['1.1.1', second]);
    expect(await bench.keeper.release(first)).toBeNull();
    expect(await bench.keeper.release(second)).toMatchObject({ id: second });
    bench.cycle([{ rule: 7, priority: 1, value: 80 }]);
    expect(bench.device).toBe(50);
  });

  test('a wall clock that is set back does not prolong it, one that is set forward ends it', async () => {
    for (const [jumpMs, isOver] of [
      [-3_600_000, false],
      [3_600_000, true],
    ] as const) {
      const bench = new Bench();
      await bench.override(42, 10);
      bench.advance(9999, jumpMs);
      bench.cycle();
      expect(bench.keeper.grants().length).toBe(isOver ? 0 : 1);
      bench.advance(1);
      bench.cycle();
      expect(bench.keeper.grants()).toEqual([]);
    }
  });

  test('survives a crash for the rest of its time; one that expired in between is reported', async () => {
    const bench = new Bench();
    await bench.override(42, 10);
    bench.cycle();
    bench.restart(4000);
    bench.device = null;
    bench.cycle([{ rule: 7, priority: 1, value: 1 }]);
    expect(bench.device).toBe(42);
    bench.restart(6000);
    bench.device = null;
    expect(bench.cycle([{ rule: 7, priority: 1, value: 1 }])).toEqual([null]);
    expect([bench.device, bench.ended.length]).toEqual([1, 1]);
  });

  test('of two that are given at once the later one holds, now and after a crash', async () => {
    const bench = new Bench();
    const both = await Promise.all([bench.override(10, 60), bench.override(20, 60)]);
    expect([[...bench.stored.keys()], bench.keeper.grants().map(({ id }) => id)]).toEqual([[both[1]], [both[1]]]);
    bench.restart();
    bench.cycle();
    expect(bench.device).toBe(20);
  });

  test('a grant of a point that the site no longer has ends when it is loaded', async () => {
    const bench = new Bench();
    await bench.override(10, 60);
    const [grant] = bench.stored.values();
    if (grant === undefined) throw new Error('nothing was stored');
    bench.stored.set('1.99.1', { ...grant, id: '1.99.1', point: 99 });
    bench.restart();
    expect(bench.ended.map((ended) => ended.grant.id)).toEqual(['1.99.1']);
  });

  test('an order that expired while it was stored leaves nothing behind', async () => {
    const bench = new Bench();
    await expect(bench.override(42, 10, bench.monotonicMs)).rejects.toMatchObject({ code: 'engine-unavailable' });
    bench.cycle();
    expect([bench.stored.size, bench.device]).toEqual([0, null]);
    // Nor does the override it was to replace lose its place in the store.
    const first = await bench.override(7, 10);
    await expect(bench.override(42, 10, bench.monotonicMs)).rejects.toMatchObject({ code: 'engine-unavailable' });
    bench.restart();
    bench.cycle();
    expect([[...bench.stored.keys()], bench.device]).toEqual([[first], 7]);
  });

  test('`overrides_maximum`, at its edge', async () => {
    const bench = new Bench();
    for (let count = 0; count < automationLimits.overrides_maximum; count++) await bench.limit(0, 100, 60);
    await expect(bench.limit(0, 100, 60)).rejects.toMatchObject({ code: 'invalid-input' });
    expect(bench.keeper.grants().length).toBe(automationLimits.overrides_maximum);
  });
});

describe('[points §7.2] limits', () => {
  test('the tightest holds, within the range of the point; where they cross, max does', async () => {
    const bench = new Bench();
    await bench.limit(-50, 80, 60);
    await bench.limit(30, 500, 60);
    expect(bench.view().bounds).toEqual({ low: 30, high: 80 });
    await bench.limit(null, 10, 60);
    expect(bench.view().bounds).toEqual({ low: 10, high: 10 });
  });

  test('a limit that tightens brings the actuator back inside at once, and tells the device layer', async () => {
    const bench = new Bench({ facts: { step: 7 } });
    bench.cycle([{ rule: 7, priority: 1, value: 98 }]);
    await bench.limit(null, 50, 60);
    bench.cycle();
    // The largest step within the limit.
    expect([bench.device, bench.bounds[1]]).toEqual([49, 50]);
    expect(bench.view()).toMatchObject({
      owner: { kind: 'limit', name: 'a test' },
      command: { by: { kind: 'limit' } },
    });
    expect(bench.view().segments.at(-1)?.contenders).toEqual([{ kind: 'rule', id: '7', name: '', reason: 'limited' }]);
    bench.advance(60_000);
    bench.cycle();
    expect([bench.device, bench.bounds]).toEqual([49, [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]]);
  });

  test('also if the actuator is at its safe value, or at a value that only the device knows', async () => {
    const guarded = new Bench({ facts: { holdMaxMs: 60_000, safeValue: 90 } });
    guarded.cycle([{ rule: 7, priority: 1, value: 20 }]);
    guarded.safeWrites++;
    guarded.cycle();
    expect(guarded.view().segments.at(-1)).toMatchObject({ owner: { kind: 'safe' }, value: 90 });
    await guarded.limit(null, 50, 60);
    guarded.cycle();
    expect(guarded.device).toBe(50);
    const unknown = new Bench();
    unknown.reading = 80;
    await unknown.limit(null, 50, 60);
    unknown.cycle();
    expect(unknown.device).toBe(50);
  });

  const measured = (index: number): StandingLimit => ({
    id: 'limits[0]',
    targetIndex: index,
    min: undefined,
    max: { from: { index: 0, maxAgeMs: 60_000 } },
    failsafe: { value: 20, afterMs: 5000 },
  });

  test('a standing limit follows its reading, holds the last one for after_ms, then the failsafe; before the first too', () => {
    const index = new Bench().point.index;
    const bench = new Bench({ standing: [measured(index)] });
    const write = (): number | null => {
      bench.cycle([{ rule: 7, priority: 1, value: 100 }]);
      return bench.device;
    };
    expect(write()).toBe(20);
    bench.reading = 60;
    expect(write()).toBe(60);
    bench.reading = null;
    bench.advance(5000);
    expect(write()).toBe(60);
    bench.advance(1);
    expect(write()).toBe(20);
  });

  test('limits clamp an override, and the account names the limit as the owner', async () => {
    const bench = new Bench();
    const override = await bench.override(90, 60);
    await bench.limit(null, 50, 30);
    bench.cycle();
    expect([bench.device, bench.view().owner.kind]).toEqual([50, 'limit']);
    expect(bench.view().next).toMatchObject({ owner: { kind: 'override', id: override }, atMs: startWallMs + 30_000 });
    bench.advance(30_000);
    bench.cycle();
    expect([bench.device, bench.view().owner.id]).toEqual([90, override]);
  });
});

describe('[points §7.3] the account of who held a point', () => {
  test('segments follow each other without a gap, with the refused writers and the next owner', async () => {
    const bench = new Bench({ facts: { holdMaxMs: 60_000 } });
    bench.cycle([{ rule: 7, priority: 1, value: 10 }]);
    expect(bench.view().next).toMatchObject({ owner: { kind: 'safe' }, atMs: startWallMs + 60_000 });
    bench.advance(1000);
    await bench.override(42, 10);
    bench.cycle([{ rule: 7, priority: 1, value: 10 }]);
    expect(bench.view().next).toMatchObject({ owner: { kind: 'rule', id: '7' }, atMs: startWallMs + 11_000 });
    bench.advance(10_000);
    bench.safeWrites++;
    bench.cycle();
    const { segments } = bench.view();
    expect(segments.map(({ owner, value }) => [owner.kind, value])).toEqual([
      ['rule', 10],
      ['override', 42],
      ['none', 42],
      ['safe', 42],
    ]);
    expect(segments[1]?.contenders).toEqual([{ kind: 'rule', id: '7', name: '', reason: 'overridden' }]);
    // A rule that has not tried for `contending_ms` is no longer the next owner.
    const waits = new Bench();
    await waits.override(42, 3600);
    waits.cycle([{ rule: 7, priority: 1, value: 10 }]);
    waits.advance(automationLimits.contending_ms);
    waits.cycle();
    expect(waits.view().next?.owner.kind).toBe('rule');
    waits.advance(1);
    waits.cycle();
    expect(waits.view().next?.owner.kind).toBe('none');
    segments.slice(1).forEach((segment, before) => expect(segments[before]?.toMs).toBe(segment.fromMs));
    expect([...bench.segments.keys()].filter((key) => key.startsWith('1:action:1@'))).toHaveLength(4);
  });
});

/** The expected result, without the keeper's data structures. */
class NaiveLadder {
  grants: { id: string; kind: string; value: number; min: number; max: number; endMs: number; wallEndMs: number }[] =
    [];
  hold: { rule: number; priority: number; untilMs: number } | null = null;
  device: number | null = null;

  expire(monotonicMs: number, wallMs: number): void {
    this.grants = this.grants.filter(({ endMs, wallEndMs }) => monotonicMs < endMs && wallMs < wallEndMs);
  }

  within(value: number): number {
    const limits = this.grants.filter(({ kind }) => kind === 'limit');
    const high = Math.min(100, ...limits.map(({ max }) => Math.max(0, max)));
    const low = Math.min(high, Math.max(0, ...limits.map(({ min }) => Math.min(100, min))));
    return Math.min(Math.max(value, low), high);
  }
}

describe('[points §7] the ladder against a naive model', () => {
  const value = fc.integer({ min: 0, max: 100 });
  const seconds = fc.integer({ min: 1, max: 8 });
  const write = fc.record({ rule: fc.integer({ min: 1, max: 3 }), value });
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('cycle' as const),
        writes: fc.uniqueArray(write, { maxLength: 3, selector: ({ rule }) => rule }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('override' as const), value, seconds }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('limit' as const), min: value, max: value, seconds }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), which: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), downMs: fc.constantFrom(0, 500, 3000) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('jump' as const), ms: fc.constantFrom(-60_000, -500, 500, 60_000) }),
    },
  );
  const timed = fc.array(fc.tuple(fc.constantFrom(0, 100, 900, 1000, 2500), step), { maxLength: 14 });

  test('every value of the actuator equals that of the model, in 10,000 histories', async () => {
    const priorities = new Map([
      [1, 30],
      [2, 20],
      [3, 10],
    ]);
    await fc.assert(
      fc.asyncProperty(timed, async (steps) => {
        const bench = new Bench({ facts: { priorityHoldMs: 1500 } });
        const model = new NaiveLadder();
        for (const [waitMs, what] of steps) {
          bench.advance(waitMs);
          if (what.do === 'jump') bench.advance(0, what.ms);
          if (what.do === 'override' || what.do === 'limit') {
            const [min, max] = what.do === 'limit' ? [what.min, what.max].toSorted((a, b) => a - b) : [0, 0];
            const id =
              what.do === 'override'
                ? await bench.override(what.value, what.seconds)
                : await bench.limit(min ?? 0, max ?? 0, what.seconds);
            if (what.do === 'override') model.grants = model.grants.filter(({ kind }) => kind !== 'override');
            const ends = {
              endMs: bench.monotonicMs + what.seconds * 1000,
              wallEndMs: bench.wallMs + what.seconds * 1000,
            };
            const held = what.do === 'override' ? what.value : 0;
            model.grants.push({ id, kind: what.do, value: held, min: min ?? 0, max: max ?? 0, ...ends });
          }
          if (what.do === 'release') {
            const id = model.grants[what.which]?.id;
            if (id !== undefined) expect(await bench.keeper.release(id)).toMatchObject({ id });
            model.grants = model.grants.filter((grant) => grant.id !== id);
          }
          if (what.do === 'restart') {
            bench.restart(what.downMs);
            // Holds are not stored here: the claims keep them.
            model.hold = null;
            model.grants = model.grants.map((grant) => ({
              ...grant,
              endMs: 50 + Math.min(grant.wallEndMs - bench.wallMs, spanOf(bench, grant.id)),
            }));
          }
          model.expire(bench.monotonicMs, bench.wallMs);
          const writes = (what.do === 'cycle' ? what.writes : [])
            .map((each) => ({ ...each, priority: priorities.get(each.rule) ?? 0 }))
            .toSorted((one, other) => other.priority - one.priority);
          const answers = bench.cycle(writes);
          const override = model.grants.find(({ kind }) => kind === 'override');
          if (override !== undefined) model.device = model.within(override.value);
          else if (model.device !== null) model.device = model.within(model.device);
          let taken = false;
          writes.forEach(({ rule, priority, value: asked }, at) => {
            const isHeld =
              model.hold !== null &&
              model.hold.rule !== rule &&
              priority < model.hold.priority &&
              bench.monotonicMs < model.hold.untilMs;
            if (override !== undefined) expect(answers[at]).toBe('overridden');
            else if (taken || isHeld) expect(answers[at]).toBe('outranked');
            else {
              taken = true;
              model.device = model.within(asked);
              model.hold = { rule, priority, untilMs: bench.monotonicMs + 1500 };
              expect(answers[at]).toBe(model.device === asked ? null : 'limited');
            }
          });
          expect(bench.device).toBe(model.device);
          expect(
            bench.keeper
              .grants()
              .map(({ id }) => id)
              .toSorted(),
          ).toEqual(model.grants.map(({ id }) => id).toSorted());
        }
      }),
      { numRuns: 10_000 },
    );
  });
});

/** The whole time that a grant was given for. */
function spanOf(bench: Bench, id: string): number {
  const grant = bench.stored.get(id);
  return grant === undefined ? 0 : grant.untilMs - grant.fromMs;
}
