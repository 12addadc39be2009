/** The live table and its ring of changes: snapshots of one moment, no change lost unseen, no writer that died blocks others. */
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { type QualityCode, quality } from '../site/quality.ts';
import { createSnapshot, usable } from '../site/snapshot.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { createChangeReader, createLiveTableReader, createLiveTableWriter } from './live-table.ts';
import { beginGeneration, createPointMemory, doorbells, header, ringSize } from './shared-memory.ts';

const maxAgeMs = 100;
const infinite = Number.POSITIVE_INFINITY;

/** A table of `count` points; the first generation has begun and its initial changes have been read. */
function table(count: number, maxAgesMs: readonly number[] = Array.from({ length: count }, () => maxAgeMs)) {
  const clock = simulatedClock();
  const memory = createPointMemory(
    Array.from({ length: count }, () => ({ channel: 0, writable: true })),
    1,
  );
  beginGeneration(memory);
  const writer = createLiveTableWriter(memory, clock, maxAgesMs);
  const reader = createLiveTableReader(memory);
  const changes = createChangeReader(memory);
  const snapshot = createSnapshot(count);
  const drained = () => {
    const seen: [number, number | null][] = [];
    const lost = changes.drain((index, value, isUsable) => seen.push([index, isUsable ? value : null]));
    return { seen, lost };
  };
  const put = (index: number, value: number, code: QualityCode = quality.good): void =>
    writer.publish([{ index, value, quality: code }]);
  drained();
  return { clock, memory, writer, reader, snapshot, drained, put };
}

describe('[rules §7.1] all inputs come from one snapshot', () => {
  test('a new table has no value', () => {
    const { reader, snapshot, clock } = table(2);
    expect(reader.copyInto(snapshot, clock)).toBe(true);
    expect([...snapshot.values, ...snapshot.quality]).toEqual([Number.NaN, Number.NaN, 0, 0]);
  });

  test('a snapshot carries value, quality, age, generation and both clocks', () => {
    const { clock, put, reader, snapshot } = table(2);
    put(1, 42.5);
    clock.advance(30);
    expect(reader.copyInto(snapshot, clock)).toBe(true);
    expect(snapshot).toMatchObject({ generation: 1, monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
    expect([snapshot.values[1], snapshot.quality[1]]).toEqual([42.5, quality.good]);
    expect(snapshot.monotonicMs - (snapshot.observedMs[1] ?? 0)).toBe(30);
    expect(usable(snapshot, 1, 30)).toBe(true);
    expect(usable(snapshot, 1, 29)).toBe(false);
    expect(usable(snapshot, 0, infinite)).toBe(false);
  });

  test.each([
    [Number.NaN, quality.good],
    [infinite, quality.good],
    [-infinite, quality.uncertain],
    [5, quality.bad],
    [5, quality.missing],
  ])('never usable: %s of quality %s', (value, code) => {
    const { clock, put, reader, snapshot } = table(1);
    put(0, 1);
    put(0, value, code);
    reader.copyInto(snapshot, clock);
    expect(usable(snapshot, 0, infinite)).toBe(false);
    expect(snapshot.values[0]).toBeNaN();
  });

  test('readings of one batch are seen together, while another thread writes', async () => {
    const points = 512;
    const { memory, reader, snapshot } = table(points);
    const worker = new Worker(new URL('./fixture/writer-thread.ts', import.meta.url), {
      workerData: { memory, points },
    });
    const seen = new Set<number>();
    try {
      await expect
        .poll(
          () => {
            for (let read = 0; read < 500; read++) {
              if (!reader.copyInto(snapshot, systemClock)) continue;
              const first = snapshot.values[0] ?? Number.NaN;
              if (Number.isNaN(first)) continue;
              if (snapshot.values.some((value) => value !== first)) throw new Error('torn');
              seen.add(first);
            }
            return seen.size;
          },
          { timeout: 15_000 },
        )
        .toBeGreaterThan(200);
    } finally {
      await worker.terminate();
    }
  });
});

describe('a batch that takes long, because it is large or its thread lost the processor', () => {
  test('is waited for, a bounded number of times', () => {
    const { clock, memory, put, snapshot } = table(1);
    put(0, 7);
    const batch = (): unknown => Atomics.add(memory.header, header.sequence, 1);
    let waits = 0;
    const reader = createLiveTableReader(memory, () => {
      waits++;
      if (waits === 99) batch();
    });
    batch();
    expect(reader.copyInto(snapshot, clock)).toBe(true);
    expect([snapshot.values[0], waits]).toEqual([7, 99]);
    batch();
    waits = 100;
    expect(reader.copyInto(snapshot, clock)).toBe(false);
    expect(waits).toBe(200);
  });
});

describe('a device layer that dies in the middle of a batch', () => {
  test('readers give up after a bounded time, and read again once a new generation began', () => {
    const { clock, memory, put, reader, snapshot } = table(1);
    put(0, 7);
    Atomics.add(memory.header, header.sequence, 1);
    expect(reader.copyInto(snapshot, clock)).toBe(false);
    beginGeneration(memory);
    expect(reader.copyInto(snapshot, clock)).toBe(true);
    expect(snapshot.generation).toBe(2);
    expect(usable(snapshot, 0, infinite)).toBe(false);
    put(0, 8);
    reader.copyInto(snapshot, clock);
    expect(snapshot.values[0]).toBe(8);
  });

  test('[points §4.2] a new generation makes every value unavailable and tells the reader to sample', () => {
    const { clock, memory, put, reader, snapshot, drained } = table(3);
    for (const index of [0, 1, 2]) put(index, index);
    drained();
    expect(beginGeneration(memory)).toBe(2);
    reader.copyInto(snapshot, clock);
    expect([0, 1, 2].map((index) => usable(snapshot, index, infinite))).toEqual([false, false, false]);
    expect(drained().lost).toBe(true);
    expect(drained().lost).toBe(false);
  });
});

describe('[points §5] the ring of changes', () => {
  test('a change of value or quality is announced, an equal reading is not', () => {
    const { put, drained } = table(2);
    put(0, 1);
    put(0, 1);
    put(1, 5);
    put(0, 2);
    put(0, 2, quality.uncertain);
    put(0, 2, quality.bad);
    put(0, 9, quality.bad);
    put(0, 2);
    expect(drained()).toEqual({
      seen: [
        [0, 1],
        [1, 5],
        [0, 2],
        [0, 2],
        [0, null],
        [0, 2],
      ],
      lost: false,
    });
    expect(drained().seen).toEqual([]);
  });

  test('[rules §3.2] +0 and -0 are equal; NaN after a value is a change, NaN after NaN is not', () => {
    const { put, drained } = table(1);
    put(0, 0);
    put(0, -0);
    put(0, Number.NaN);
    put(0, Number.NaN);
    expect(drained().seen).toEqual([
      [0, 0],
      [0, null],
    ]);
  });

  test('an equal reading that follows a stale one is announced: a gap ended', () => {
    const { clock, put, drained } = table(1);
    put(0, 3);
    clock.advance(maxAgeMs);
    put(0, 3);
    expect(drained().seen).toEqual([[0, 3]]);
    clock.advance(maxAgeMs + 1);
    put(0, 3);
    expect(drained().seen).toEqual([[0, 3]]);
  });

  test('virtual values do not go stale', () => {
    const { clock, put, drained } = table(1, [infinite]);
    put(0, 3);
    clock.advance(1e9);
    put(0, 3);
    expect(drained().seen).toEqual([[0, 3]]);
  });

  test('the doorbell rings once a batch, and only when something changed', () => {
    const { memory, writer } = table(2);
    const rings = () => Atomics.load(memory.doorbells, doorbells.changes);
    const start = rings();
    const batch = [0, 1].map((index) => ({ index, value: 1, quality: quality.good }));
    writer.publish(batch);
    expect(rings() - start).toBe(1);
    writer.publish(batch);
    writer.publish([]);
    expect(rings() - start).toBe(1);
  });

  test('a full ring drops changes and reports it: the reader samples instead', () => {
    const { put, drained } = table(1);
    for (let value = 1; value <= ringSize; value++) put(0, value);
    const full = drained();
    expect([full.seen.length, full.lost]).toEqual([ringSize, false]);
    for (let value = 0; value <= ringSize; value++) put(0, -value);
    const over = drained();
    expect([over.seen.length, over.lost]).toEqual([ringSize, true]);
    expect(drained()).toEqual({ seen: [], lost: false });
  });

  test('positions count on past the largest Int32', () => {
    const { memory, put, drained } = table(1);
    const nearEnd = 2 ** 31 - 3;
    Atomics.store(memory.header, header.ringHead, nearEnd);
    Atomics.store(memory.header, header.ringTail, nearEnd);
    for (let value = 1; value <= 6; value++) put(0, value);
    expect(drained().seen.map(([, value]) => value)).toEqual([1, 2, 3, 4, 5, 6]);
    Atomics.store(memory.header, header.ringHead, nearEnd);
    Atomics.store(memory.header, header.ringTail, nearEnd);
    for (let value = 1; value <= ringSize + 1; value++) put(0, -value);
    const over = drained();
    expect([over.seen.length, over.lost]).toEqual([ringSize, true]);
  });

  test('for any publications, table and announcements agree with a naive model', () => {
    const reading = fc.record({
      index: fc.nat({ max: 2 }),
      value: fc.oneof(fc.constantFrom(0, -0, 1, 2), fc.constant(Number.NaN)),
      quality: fc.constantFrom(quality.missing, quality.good, quality.uncertain, quality.bad),
      waitMs: fc.constantFrom(0, 0, 1, maxAgeMs, maxAgeMs + 1),
    });
    fc.assert(
      fc.property(fc.array(reading, { maxLength: 60 }), (readings) => {
        const { clock, put, reader, snapshot, drained } = table(3);
        const model = [0, 1, 2].map(() => ({ value: null as number | null, code: 0 as number, atMs: 0 }));
        const expected: [number, number | null][] = [];
        for (const { index, value, quality: given, waitMs } of readings) {
          clock.advance(waitMs);
          put(index, value, given);
          const good = (given === quality.good || given === quality.uncertain) && Number.isFinite(value);
          const next = {
            value: good ? value + 0 : null,
            code: given === quality.missing || good ? given : quality.bad,
            atMs: clock.monotonicMs(),
          };
          const last = model[index];
          if (last === undefined) throw new Error('no such point');
          if (next.code !== last.code || next.value !== last.value || next.atMs - last.atMs > maxAgeMs)
            expected.push([index, next.value]);
          model[index] = next;
        }
        reader.copyInto(snapshot, clock);
        const { seen } = drained();
        expect(seen.map(([index, value]) => [index, value === null ? null : value + 0])).toEqual(expected);
        model.forEach(({ value }, index) => {
          expect(usable(snapshot, index, infinite)).toBe(value !== null);
          if (value !== null) expect((snapshot.values[index] ?? Number.NaN) + 0).toBe(value);
        });
      }),
    );
  });
});
