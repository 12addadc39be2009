import { describe, expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import { noJournal } from '../storage/row-journal.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { automationLimits } from './limits.ts';
import { createRecordWriter } from './record-writer.ts';
import { createRunRecorder } from './run-recorder.ts';
import type { RunStore, StateRow } from './store/run-store.ts';

const runOf = (ruleId: number, number: number) =>
  ({ rule_id: ruleId, execution_id: `run-${number}`, started_at: '', outcome: 'acted' }) as ExecutionRecord;
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Transaction {
  readonly rows: string[];
  readonly states: StateRow[];
  readonly gone: number[];
}

function setup(limits: Partial<typeof automationLimits> = {}) {
  const clock = simulatedClock();
  const transactions: Transaction[] = [];
  const pruned: number[] = [];
  const segmentsBefore: number[] = [];
  const owned: string[] = [];
  const claimed: string[] = [];
  /** An append that hangs ends when it is `answered`. */
  const faults = {
    /** The writer's thread has ended. */
    away: false,
    failing: false,
    hanging: false,
    answered: () => undefined as void,
    whilePruning: () => undefined as void,
  };
  const store: RunStore = {
    append({ rows, states, gone, claims, segments }) {
      if (faults.failing) return Promise.reject(new Error('disk full'));
      claimed.push(...claims.map(({ state }) => state));
      owned.push(...segments.map(({ state }) => state));
      if (faults.hanging) return new Promise((resolve) => void (faults.answered = resolve));
      transactions.push({ rows: rows.map((row) => row.execution_id), states: [...states], gone: [...gone] });
      return Promise.resolve();
    },
    states: () => Promise.resolve([]),
    claims: () => Promise.resolve([]),
    async pruneRule(ruleId) {
      pruned.push(ruleId);
      faults.whilePruning();
    },
    restore: () => Promise.reject(new Error('not used')),
    async pruneSegments(wallMs) {
      segmentsBefore.push(wallMs);
      return 0;
    },
    pruneBefore: () => Promise.resolve(0),
  };
  const ruleLog = {
    append: () => undefined,
    dropped: () => 0,
    flush: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const states = new Map<number, string>();
  /** Rules without any state. */
  const memoryless = new Set<number>();
  const retention = { nowMs: clock.wallMs };
  const parts = { limits: { ...automationLimits, ...limits }, retention, clock, log: silentLog };
  const said: string[] = [];
  const note = (message: string): void => void said.push(message);
  const log = { ...silentLog, info: note, error: note };
  const writer = createRecordWriter({ ...parts, log, store, ruleLog, journal: noJournal, blockMs: 0 });
  const complaints: string[] = [];
  const recorder = createRunRecorder({
    ...parts,
    log: { ...silentLog, error: (message) => void complaints.push(message) },
    writer: {
      take: (batch) => (faults.away ? Promise.reject(new Error('the thread ended')) : writer.take(batch)),
      counts: () => writer.counts(),
      settled: (ruleId) => writer.settled(ruleId),
      close: () => writer.close(),
    },
    stateOf: (ruleId) => states.get(ruleId) ?? null,
    remembers: (ruleId) => !memoryless.has(ruleId),
    urgentStateOf: (ruleId) => states.get(ruleId) ?? '',
  });
  /** Due rows are handed over in one turn and stored in the next. */
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
    clock.advance(0);
    await settle();
  };
  const close = async (): Promise<string[]> => (await recorder.close()).map((row) => row.execution_id);
  return {
    recorder,
    writer,
    clock,
    close,
    transactions,
    states,
    memoryless,
    faults,
    pruned,
    segmentsBefore,
    owned,
    claimed,
    complaints,
    said,
    pass,
  };
}

describe('[rules §7.5] recorder', () => {
  test('the state of a rule that a reload edited is stored without a run', async () => {
    const { recorder, transactions, states, pass } = setup();
    states.set(1, 'edited');
    recorder.touch([]);
    await pass(automationLimits.record_flush_ms);
    expect(transactions).toEqual([]);
    recorder.touch([1, 2]);
    await pass(automationLimits.record_flush_ms);
    expect(transactions).toEqual([{ rows: [], states: [{ rule_id: 1, state: 'edited' }], gone: [] }]);
  });

  test('runs and the newest state of their rules are stored together, within the flush time', async () => {
    const { recorder, transactions, states, pass } = setup();
    states.set(1, 'old');
    recorder.record(runOf(1, 1), false);
    recorder.record(runOf(2, 2), false);
    states.set(1, 'new');
    await pass(99);
    expect(transactions).toEqual([]);
    await pass(1);
    expect(transactions).toEqual([{ rows: ['run-1', 'run-2'], states: [{ rule_id: 1, state: 'new' }], gone: [] }]);
  });

  test('a store that takes nothing is logged once, not at every attempt, and again when it has come back', async () => {
    const { recorder, faults, said, pass } = setup();
    faults.failing = true;
    recorder.record(runOf(1, 1), false);
    for (let attempt = 0; attempt < 20; attempt++) await pass(automationLimits.record_flush_ms);
    expect(said).toEqual(['cannot store executions; retrying']);
    faults.failing = false;
    await pass(automationLimits.record_flush_ms);
    expect(said.slice(1)).toEqual(['executions are being stored again']);
    faults.failing = true;
    recorder.record(runOf(1, 2), false);
    await pass(automationLimits.record_flush_ms);
    expect(said.slice(2)).toEqual(['cannot store executions; retrying']);
  });

  test('[points §7.3] the account of ownership goes within `state_flush_ms`, each segment in its newest form, and is kept `ownership_days`', async () => {
    const { recorder, clock, owned, segmentsBefore, faults, pass } = setup({ ownership_days: 2 });
    const begunMs = clock.wallMs();
    const segment = (state: string) => ({ point: '1:action:1', from_ms: 5, to_ms: null, state });
    recorder.owned([segment('old')]);
    recorder.owned([segment('new')]);
    await pass(automationLimits.state_flush_ms - 1);
    expect(owned).toEqual([]);
    await pass(1);
    expect(owned).toEqual(['new']);
    faults.failing = true;
    recorder.owned([segment('newest')]);
    await pass(automationLimits.state_flush_ms);
    faults.failing = false;
    await pass(automationLimits.record_flush_ms);
    expect(owned).toEqual(['new', 'newest']);
    await pass(automationLimits.history_prune_interval_ms);
    expect(segmentsBefore).toEqual([begunMs + automationLimits.history_prune_interval_ms - 2 * 86_400_000]);
  });

  test('a batch that the writer did not accept is sent again, in its newest form, and reported once', async () => {
    const { recorder, states, faults, transactions, owned, claimed, complaints, pass } = setup();
    const segment = (from_ms: number, state: string) => ({ point: '1:action:1', from_ms, to_ms: null, state });
    faults.away = true;
    states.set(1, 'old');
    states.set(2, 'removed');
    recorder.record(runOf(1, 1), false);
    recorder.record(runOf(2, 2), false);
    recorder.claimed('1:action:1', 'held');
    recorder.claimed('1:action:2', 'held before');
    recorder.owned([segment(5, 'first'), segment(6, 'second')]);
    await pass(automationLimits.state_flush_ms);
    states.set(1, 'new');
    recorder.forget([2]);
    recorder.claimed('1:action:2', 'held now');
    recorder.owned([segment(6, 'second, newer')]);
    await pass(automationLimits.record_flush_ms);
    expect([transactions, complaints]).toEqual([[], ['cannot hand over executions']]);
    faults.away = false;
    await pass(automationLimits.record_flush_ms);
    expect(transactions).toEqual([{ rows: ['run-1', 'run-2'], states: [{ rule_id: 1, state: 'new' }], gone: [2] }]);
    expect(claimed.toSorted()).toEqual(['held', 'held now']);
    await pass(automationLimits.state_flush_ms);
    expect(owned.toSorted()).toEqual(['first', 'second, newer']);
  });

  test('a chunk is bounded and the rest follows in later turns', async () => {
    const { recorder, transactions, pass } = setup({ record_chunk_rows: 2 });
    for (let number = 1; number <= 5; number++) recorder.record(runOf(1, number), false);
    await pass(100);
    await pass(0);
    await pass(100);
    expect(transactions.map((transaction) => transaction.rows)).toEqual([
      ['run-1', 'run-2'],
      ['run-3', 'run-4'],
      ['run-5'],
    ]);
  });

  test('urgent rows are stored at once, or after the current store; a failure is retried in time', async () => {
    const { recorder, transactions, faults, pass } = setup();
    recorder.record(runOf(1, 1), false);
    recorder.hurry();
    await pass(0);
    expect(transactions).toHaveLength(1);
    faults.hanging = true;
    recorder.record(runOf(1, 2), false);
    recorder.hurry();
    await pass(0);
    recorder.record(runOf(1, 3), false);
    recorder.hurry();
    faults.hanging = false;
    faults.answered();
    await pass(0);
    await pass(0);
    expect(transactions).toHaveLength(2);
    faults.failing = true;
    recorder.record(runOf(1, 4), false);
    recorder.hurry();
    await pass(0);
    faults.failing = false;
    await pass(automationLimits.record_flush_ms - 1);
    expect(transactions).toHaveLength(2);
    await pass(1);
    expect(transactions).toHaveLength(3);
  });

  test('settled waits for its own run and hastens it', async () => {
    const { recorder, transactions, pass } = setup();
    recorder.record(runOf(1, 1), false);
    const stored = recorder.settled(1);
    await pass(0);
    expect(await stored).toBe(true);
    expect(transactions).toHaveLength(1);
    expect(await recorder.settled(1)).toBe(true);
  });

  test('a failing store is logged, loses nothing and is retried', async () => {
    const { recorder, transactions, states, faults, pass } = setup();
    states.set(1, 's');
    faults.failing = true;
    recorder.record(runOf(1, 1), false);
    const stored = recorder.settled(1);
    await pass(0);
    expect(await stored).toBe(false);
    expect(recorder.waiting()).toBe(1);
    faults.failing = false;
    await pass(100);
    expect(transactions).toEqual([{ rows: ['run-1'], states: [{ rule_id: 1, state: 's' }], gone: [] }]);
  });

  test('record_queue: the oldest gives way, is counted, and the others are stored once each', async () => {
    const { recorder, transactions, faults, pass } = setup({ record_queue: 3 });
    faults.failing = true;
    for (let number = 1; number <= 5; number++) recorder.record(runOf(1, number), false);
    await pass(100);
    faults.failing = false;
    await pass(100);
    expect(recorder.dropped()).toBe(2);
    expect(transactions.flatMap((transaction) => transaction.rows)).toEqual(['run-3', 'run-4', 'run-5']);
    expect(recorder.waiting()).toBe(0);
  });

  test('the state of a deleted rule is removed; close stores pending executions', async () => {
    const { recorder, transactions } = setup();
    recorder.record(runOf(1, 1), false);
    recorder.forget([9]);
    await recorder.close();
    expect(transactions).toEqual([{ rows: ['run-1'], states: [], gone: [9] }]);
  });

  test('close ends even when the store takes nothing', async () => {
    const { recorder, faults, close } = setup();
    faults.failing = true;
    recorder.record(runOf(1, 1), false);
    expect(await close()).toEqual(['run-1']);
  });

  test('close returns pending executions well before the engine ends, even if the store never answers', async () => {
    const { recorder, faults, close, transactions, pass } = setup();
    faults.hanging = true;
    recorder.record(runOf(1, 1), false);
    await pass(automationLimits.record_flush_ms);
    recorder.record(runOf(1, 2), false);
    let left: string[] | undefined;
    const closing = close().then((rows) => (left = rows));
    await settle();
    await pass(automationLimits.engine_call_timeout_ms / 2 - 1);
    expect(left).toBeUndefined();
    await pass(1);
    expect(left).toEqual(['run-1', 'run-2']);
    await closing;
    faults.hanging = false;
    faults.answered();
    await pass(automationLimits.record_flush_ms);
    expect(transactions).toEqual([]);
  });

  test('an answer after a close that gave up removes nothing from the journal', async () => {
    const clock = simulatedClock();
    const removed: number[] = [];
    let answered = (): void => undefined;
    const store: RunStore = {
      append: () => new Promise((resolve) => void (answered = resolve)),
      restore: () => Promise.resolve(),
      states: () => Promise.resolve([]),
      claims: () => Promise.resolve([]),
      pruneRule: () => Promise.resolve(),
      pruneSegments: async () => 0,
      pruneBefore: () => Promise.resolve(0),
    };
    const ruleLog = { append: () => undefined, dropped: () => 0, flush: settle, close: settle };
    const journal = { ...noJournal, append: () => true, stored: (upTo: number) => void removed.push(upTo) };
    const retention = { nowMs: clock.wallMs };
    const parts = { store, ruleLog, journal, blockMs: 0, limits: automationLimits, retention, clock, log: silentLog };
    const writer = createRecordWriter(parts);
    const row = { execution_id: 'run-1', rule_id: 1, unchanged: false, record: '1' };
    await writer.take({ rows: [row], states: [], gone: [], claims: [], segments: [] });
    clock.advance(0);
    await settle();
    const closing = writer.close();
    clock.advance(automationLimits.engine_call_timeout_ms);
    // The journal keeps it: nobody else has to.
    expect(await closing).toEqual([]);
    answered();
    await settle();
    expect(removed).toEqual([]);
  });

  test('close that began to store and hangs gives back all too; an answer after that stores no more', async () => {
    const { recorder, faults, close, transactions, pass } = setup({ record_chunk_rows: 1 });
    recorder.record(runOf(1, 1), false);
    recorder.record(runOf(1, 2), false);
    faults.hanging = true;
    const closing = close();
    await settle();
    await pass(automationLimits.engine_call_timeout_ms / 2);
    expect(await closing).toEqual(['run-1', 'run-2']);
    faults.hanging = false;
    faults.answered();
    await pass(automationLimits.engine_call_timeout_ms);
    expect(transactions).toEqual([]);
  });

  test('a rule is looked at for retention every history_prune_every runs', async () => {
    const { recorder, pruned, pass } = setup({ history_prune_every: 3 });
    for (let number = 1; number <= 2; number++) recorder.record(runOf(1, number), false);
    await pass(100);
    expect(pruned).toEqual([]);
    recorder.record(runOf(1, 3), false);
    await pass(100);
    expect(pruned).toEqual([1]);
  });

  test('retention of many rules takes a flush time at most, and no more once something is urgent; the rest has its turn', async () => {
    const { recorder, writer, clock, transactions, faults, pruned, pass } = setup({ history_prune_every: 1 });
    const flushMs = automationLimits.record_flush_ms;
    faults.whilePruning = () => clock.advance(flushMs / 2);
    for (let ruleId = 1; ruleId <= 5; ruleId++) recorder.record(runOf(ruleId, 1), false);
    await pass(flushMs);
    expect(pruned).toEqual([1, 2]);
    faults.whilePruning = () => {
      faults.whilePruning = () => clock.advance(flushMs);
      void writer.take({ rows: [], states: [{ rule_id: 9, state: 's' }], gone: [], claims: [], segments: [] });
    };
    recorder.record(runOf(6, 1), false);
    await pass(flushMs);
    expect([pruned, transactions.length]).toEqual([[1, 2, 3, 4], 3]);
    faults.whilePruning = () => undefined;
    recorder.record(runOf(7, 1), false);
    await pass(flushMs);
    expect(pruned).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test('[rules §5.2] runs that changed nothing, and memories that only grow, wait for state_flush_ms; then they go together', async () => {
    const { recorder, transactions, states, pass } = setup();
    states.set(1, 'switched on');
    recorder.record(runOf(1, 1), false);
    await pass(automationLimits.record_flush_ms);
    expect(transactions.splice(0)).toEqual([
      { rows: ['run-1'], states: [{ rule_id: 1, state: 'switched on' }], gone: [] },
    ]);
    recorder.record(runOf(1, 2), true);
    recorder.record(runOf(1, 3), true);
    await pass(automationLimits.state_flush_ms - 1);
    expect(transactions).toEqual([]);
    await pass(1);
    expect(transactions).toEqual([
      { rows: ['run-2', 'run-3'], states: [{ rule_id: 1, state: 'switched on' }], gone: [] },
    ]);
  });

  test('[rules §5.2] memories of a rule whose every run is stored at once are stored within state_flush_ms too', async () => {
    const { recorder, transactions, states, pass } = setup();
    states.set(1, 'same');
    for (let number = 1; number <= 40; number++) {
      recorder.record(runOf(1, number), false);
      await pass(automationLimits.record_flush_ms * 2);
    }
    const stored = transactions.filter((transaction) => transaction.states.length > 0);
    expect(transactions.length).toBeGreaterThanOrEqual(40);
    expect(stored.length).toBe(2);
  });

  test('[rules §7.5] of a rule without memories, when it last ran is stored every history_block_ms only, and at the end', async () => {
    const { recorder, transactions, states, memoryless, close, pass } = setup();
    states.set(1, 's');
    memoryless.add(1);
    recorder.record(runOf(1, 1), true);
    await pass(automationLimits.state_flush_ms);
    expect(transactions.flatMap((each) => each.states)).toHaveLength(1);
    for (let ms = 0; ms < automationLimits.history_block_ms; ms += automationLimits.state_flush_ms) {
      recorder.record(runOf(1, ms + 2), true);
      await pass(automationLimits.state_flush_ms);
      expect(transactions.flatMap((each) => each.rows)).toContain(`run-${ms + 2}`);
      const isLast = ms + automationLimits.state_flush_ms === automationLimits.history_block_ms;
      expect(transactions.flatMap((each) => each.states)).toHaveLength(isLast ? 2 : 1);
    }
    recorder.record(runOf(1, 1), true);
    await close();
    expect(transactions.flatMap((each) => each.states)).toHaveLength(3);
  });

  test('[rules §5.2] state that must be stored at once is stored with the rest of its rule only', async () => {
    const { recorder, transactions, states, pass } = setup();
    for (const ruleId of [1, 2]) states.set(ruleId, 'off');
    recorder.touch([1, 2]);
    recorder.record(runOf(1, 1), true);
    recorder.record(runOf(2, 2), true);
    await pass(automationLimits.record_flush_ms);
    transactions.length = 0;
    states.set(1, 'on');
    recorder.record(runOf(1, 3), true);
    recorder.record(runOf(2, 4), true);
    await pass(automationLimits.record_flush_ms);
    expect(transactions).toEqual([{ rows: [], states: [{ rule_id: 1, state: 'on' }], gone: [] }]);
  });

  test('[rules §6.2] a claim on a point is stored at once', async () => {
    const { recorder, transactions, pass } = setup();
    recorder.claimed('1:action:1', 'held');
    await pass(0);
    expect(transactions).toHaveLength(1);
  });

  test('waiting for one run also stores all other pending runs', async () => {
    const { recorder, transactions, pass } = setup();
    recorder.record(runOf(1, 1), true);
    const stored = recorder.settled(1);
    await pass(0);
    expect([await stored, transactions.flatMap(({ rows }) => rows)]).toEqual([true, ['run-1']]);
  });
});
