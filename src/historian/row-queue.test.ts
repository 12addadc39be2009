/** What waits, for how long, and what happens to it: over a store that can fail, with a journal on the disk. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { type Log, silentLog } from '../base/log.ts';
import { quality } from '../site/quality.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import type { HistoryRow } from './historian.ts';
import { type HistoryLimits, historyLimits } from './limits.ts';
import { RowQueue } from './row-queue.ts';
import { openHistoryJournal, requestStoring, takeStoreRequest } from './waiting-journal.ts';

let folder = '';
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'setpoint-rows-')), 'journal-history');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

const second = 1000;
const idOf = ({ series, eventMs }: HistoryRow): string => `${series.instance}:${series.point}@${eventMs}`;

/** A disk that keeps rows, and the processes that write to it one after another. */
function rig(limits: Partial<HistoryLimits> = {}) {
  const clock = simulatedClock();
  const stored = new Map<string, HistoryRow>();
  const batches: string[][] = [];
  const said: string[] = [];
  const hear = (message: string): void => void said.push(message);
  const log: Log = { ...silentLog, info: hear, warn: hear, error: hear };
  const state = { full: false };
  const historian = {
    async append(rows: readonly HistoryRow[]) {
      if (state.full) throw new Fault('storage-unavailable', 'full', { cause: new Error('database or disk is full') });
      if (rows.length > 0) batches.push(rows.map(idOf));
      // As an append with `once` does.
      for (const row of rows) if (!stored.has(idOf(row))) stored.set(idOf(row), row);
      return { duplicates: 0, skipped: 0 };
    },
  };
  const start = (): RowQueue =>
    new RowQueue({
      historian,
      journal: openHistoryJournal(folder, join(folder, '..', 'history.sqlite')),
      limits: { ...historyLimits, ...limits },
      clock,
      log,
    });
  const row = (point: number): HistoryRow => ({
    series: { instance: 1, point },
    eventMs: clock.wallMs(),
    ingestedMs: clock.wallMs(),
    value: point,
    quality: quality.good,
  });
  return { clock, stored, batches, said, state, start, row };
}

/** The journal's files. */
const left = (): string[] => (existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.rows')) : []);

describe('[points §6.1] rows of a file wait for more of their series', () => {
  test('for block_ms, and are stored by series', async () => {
    const { clock, start, row, batches } = rig({ block_ms: 3 * second });
    const queue = start();
    for (let at = 0; at < 3; at++) {
      queue.add([row(2), row(1)]);
      await queue.flush();
      clock.advance(at === 2 ? second - 1 : second);
    }
    await queue.flush();
    expect(batches).toEqual([]);
    expect(left()).toHaveLength(1);
    clock.advance(1);
    await queue.flush();
    expect(batches.map((rows) => rows.map((id) => id.slice(0, 3)))).toEqual([
      ['1:1', '1:1', '1:1', '1:2', '1:2', '1:2'],
    ]);
    expect(left()).toEqual([]);
    expect(queue.counts()).toMatchObject({ stored: 6, waiting: 0 });
  });

  test('a transaction has at most flush_rows, and the rest follows in the next ones', async () => {
    const { clock, start, row, batches } = rig({ block_ms: second, flush_rows: 2 });
    const queue = start();
    queue.add([row(1), row(2), row(3)]);
    await queue.flush();
    clock.advance(second);
    await queue.flush();
    expect([batches.length, queue.isBehind]).toEqual([1, true]);
    await queue.flush();
    expect(batches.map((rows) => rows.length)).toEqual([2, 1]);
    expect(queue.isBehind).toBe(false);
  });

  test('none waits while more than half of queue_rows do', async () => {
    const { start, row, batches } = rig({ queue_rows: 4 });
    const queue = start();
    queue.add([row(1), row(2)]);
    await queue.flush();
    expect(batches).toEqual([]);
    queue.add([row(3)]);
    await queue.flush();
    expect(batches).toHaveLength(1);
  });

  test('a read has those of its series stored first; they were known when they were seen', async () => {
    const { clock, start, row, stored } = rig();
    const queue = start();
    queue.add([row(1), row(2)]);
    await queue.flush();
    clock.advance(20 * second);
    const seenMs = clock.wallMs();
    queue.add([row(2)]);
    expect(await queue.settle([{ instance: 1, point: 2 }], clock.monotonicMs() + second)).toBe(true);
    expect([...stored.values()].map(({ series, ingestedMs }) => [series.point, ingestedMs])).toEqual([
      [2, seenMs - 20 * second],
      [2, seenMs],
    ]);
    expect(queue.counts().waiting).toBe(1);
    await queue.flushAll();
    expect(left()).toEqual([]);
  });

  test('the ingestion time of rows that a read missed is the time of storage', async () => {
    const { clock, start, row, stored, state } = rig();
    const queue = start();
    queue.add([row(1)]);
    await queue.flush();
    state.full = true;
    clock.advance(second);
    expect(await queue.settle([{ instance: 1, point: 1 }], clock.monotonicMs() + second)).toBe(false);
    state.full = false;
    clock.advance(second);
    const storedMs = clock.wallMs();
    await queue.flushAll();
    expect([...stored.values()].map(({ ingestedMs }) => ingestedMs)).toEqual([storedMs]);
  });

  test('a read that times out continues without pending rows; their ingestion time is then the time of storage', async () => {
    const { clock, start, row, stored } = rig();
    const queue = start();
    queue.add([row(1)]);
    await queue.flush();
    const own = [{ instance: 1, point: 1 }];
    expect(await queue.settle(own, clock.monotonicMs())).toBe(false);
    expect(stored.size).toBe(0);
    clock.advance(second);
    expect(await queue.settle(own, clock.monotonicMs() + 1)).toBe(true);
    expect([...stored.values()].map(({ ingestedMs }) => ingestedMs)).toEqual([clock.wallMs()]);
  });

  test('a crash loses no flushed row; the next process stores them at its start', async () => {
    const { clock, start, row, stored, said } = rig();
    const queue = start();
    queue.add([row(1), row(2)]);
    await queue.flush();
    clock.advance(5 * second);
    const next = start();
    next.add([row(1)]);
    await next.flush();
    expect([...stored.values()].map(({ ingestedMs }) => ingestedMs)).toEqual([clock.wallMs(), clock.wallMs()]);
    expect(said).toContain('journaled readings stored');
    await next.flushAll();
    expect([stored.size, left()]).toEqual([3, []]);
  });

  test('another process asks to have everything stored that waits, and finds it stored', async () => {
    const { clock, start, row, stored } = rig();
    const queue = start();
    queue.add([row(1)]);
    await queue.flush();
    const asked = requestStoring(folder, clock, 10 * second);
    queue.add([row(2)]);
    expect(takeStoreRequest(folder)).toBe(true);
    queue.ask();
    await queue.flush();
    expect(stored.size).toBe(2);
    expect(takeStoreRequest(folder)).toBe(false);
    clock.advance(second);
    expect(await asked).toBe(true);
    queue.add([row(3)]);
    await queue.flush();
    expect(stored.size).toBe(2);
    const unanswered = requestStoring(folder, clock, second);
    for (let at = 0; at < 40; at++) {
      clock.advance(50);
      await Promise.resolve();
    }
    expect(await unanswered).toBe(false);
  });

  test('a journal that takes nothing is logged once; rows do not wait then', async () => {
    const { start, row, stored, said } = rig();
    const queue = start();
    writeFileSync(folder, '');
    for (let point = 1; point <= 3; point++) {
      queue.add([row(point)]);
      await queue.flush();
      expect(stored.size).toBe(point);
    }
    expect(said.filter((text) => text === 'cannot write the history journal')).toHaveLength(1);
  });

  test('despite failures and restarts, each row is stored, and rows of a series in order', async () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ add: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }) }),
      },
      { weight: 3, arbitrary: fc.record({ passMs: fc.integer({ min: 1, max: 4000 }) }) },
      { weight: 2, arbitrary: fc.record({ settle: fc.integer({ min: 1, max: 4 }) }) },
      { weight: 1, arbitrary: fc.constantFrom('end' as const, 'full' as const, 'free' as const, 'request' as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        rmSync(folder, { recursive: true, force: true });
        const { clock, start, row, stored, state, batches } = rig({ block_ms: 3000, flush_rows: 3 });
        const added: string[] = [];
        let queue = start();
        for (const each of steps) {
          if (each === 'full' || each === 'free') state.full = each === 'full';
          else if (each === 'end') {
            await queue.flush();
            queue = start();
          } else if (each === 'request') queue.ask();
          else if ('add' in each) {
            clock.advance(1);
            const rows = [...new Set(each.add)].map(row);
            added.push(...rows.map(idOf));
            queue.add(rows);
          } else if ('settle' in each) {
            const done = await queue.settle([{ instance: 1, point: each.settle }], Number.POSITIVE_INFINITY);
            expect(done || state.full).toBe(true);
            const mine = (id: string): boolean => id.startsWith(`1:${each.settle}@`);
            if (done) expect([...stored.keys()].filter(mine).toSorted()).toEqual(added.filter(mine).toSorted());
          } else {
            clock.advance(each.passMs);
            await queue.flush();
          }
        }
        state.full = false;
        expect(await queue.flushAll()).toBe(true);
        expect([...stored.keys()].toSorted()).toEqual(added.toSorted());
        expect(left()).toEqual([]);
        const last = new Map<string, number>();
        for (const id of new Set(batches.flat())) {
          const [series = '', at = ''] = id.split('@');
          expect(Number(at)).toBeGreaterThan(last.get(series) ?? 0);
          last.set(series, Number(at));
        }
      }),
    );
  });
});
