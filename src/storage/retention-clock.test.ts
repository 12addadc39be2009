/** [platform §1.4] a wrong wall clock does not delete stored data. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Log, silentLog } from '../base/log.ts';
import { dayMs, hourMs } from '../base/timestamp.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { followed, RetentionClock, retentionStepMs } from './retention-clock.ts';

const startMs = Date.UTC(2026, 0, 10);
const yearMs = 365 * dayMs;

describe('the followed time', () => {
  const ms = fc.integer({ min: 0, max: 4_000_000_000_000 });
  const passed = fc.integer({ min: 0, max: yearMs });

  test('moves towards the wall clock, never past it, and by at most 24 times what passed', () => {
    fc.assert(
      fc.property(ms, passed, ms, (beforeMs, passedMs, wallMs) => {
        const afterMs = followed(beforeMs, passedMs, wallMs);
        expect(Math.abs(afterMs - beforeMs)).toBeLessThanOrEqual(24 * passedMs);
        expect(afterMs).toBeGreaterThanOrEqual(Math.min(beforeMs, wallMs));
        expect(afterMs).toBeLessThanOrEqual(Math.max(beforeMs, wallMs));
        if (Math.abs(wallMs - beforeMs) <= 24 * passedMs) expect(afterMs).toBe(wallMs);
      }),
    );
  });

  test('has caught up in 16 days after a stop of a year', () => {
    const behindAfter = (days: number): number => {
      let followedMs = startMs;
      const wallMs = (atMs: number): number => startMs + yearMs + atMs;
      for (let atMs = 0; atMs <= days * dayMs; atMs += retentionStepMs)
        followedMs = followed(followedMs, retentionStepMs, wallMs(atMs));
      return wallMs(days * dayMs) - followedMs;
    };
    expect(behindAfter(15)).toBeGreaterThan(0);
    expect(behindAfter(16)).toBe(0);
  });
});

describe('the retention clock', () => {
  let folder: string;
  let file: string;
  let lines: string[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'setpoint-retention-'));
    file = join(folder, 'retention-time');
    lines = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const note = (message: string): void => void lines.push(message);
  const log: Log = { ...silentLog, warn: note, error: note };
  const run = (wallMs: number) => {
    const clock = simulatedClock(wallMs);
    const retention = new RetentionClock(file, clock, log);
    return { clock, retention };
  };

  test('is the wall clock of a new installation, and stays with it', () => {
    const { clock, retention } = run(startMs);
    expect(retention.nowMs()).toBe(startMs);
    clock.advance(dayMs);
    expect(retention.nowMs()).toBe(startMs + dayMs);
    expect(lines).toEqual([]);
    retention.close();
  });

  test('a clock that is years ahead for an hour moves it by a day, also across restarts', () => {
    const first = run(startMs);
    first.clock.advance(2 * retentionStepMs);
    first.retention.close();
    const second = run(startMs + 70 * yearMs);
    second.clock.advance(hourMs / 2);
    second.retention.close();
    const third = run(startMs + 70 * yearMs);
    third.clock.advance(hourMs / 2);
    expect(third.retention.nowMs()).toBe(startMs + 2 * retentionStepMs + dayMs);
    expect(lines).toEqual(Array(2).fill(expect.stringContaining('the clock is far ahead')));
    // Corrected: nothing is removed that the right time would keep.
    third.clock.jumpWall(-70 * yearMs);
    third.clock.advance(retentionStepMs);
    expect(third.retention.nowMs()).toBe(third.clock.wallMs());
    third.retention.close();
  });

  test('a machine without a battery starts in 1970: once the time is right, so is retention', () => {
    run(startMs).retention.close();
    const { clock, retention } = run(0);
    expect(retention.nowMs()).toBe(0);
    clock.advance(retentionStepMs);
    clock.jumpWall(startMs + hourMs);
    clock.advance(2 * retentionStepMs);
    expect(retention.nowMs()).toBe(clock.wallMs());
    retention.close();
  });

  test('a new installation may start in 1970 too: retention begins with the year of this version, not 56 years behind', () => {
    const { clock, retention } = run(0);
    expect(retention.nowMs()).toBe(0);
    clock.jumpWall(startMs);
    clock.advance(2 * dayMs);
    expect(retention.nowMs()).toBe(clock.wallMs());
    retention.close();
  });

  test('a killed process has written its progress up to the last ten minutes', () => {
    const { clock } = run(startMs);
    clock.advance(hourMs + 1);
    expect(readFileSync(file, 'utf8')).toBe('2026-01-10T01:00:00.000Z\n');
  });

  test('what is not a file does not keep a service from starting', () => {
    mkdirSync(file);
    const { retention } = run(startMs);
    expect(retention.nowMs()).toBe(startMs);
    expect(lines[0]).toContain('cannot be read');
    retention.close();
  });

  test('an unreadable file is reported, and the wall clock taken; a folder that is gone is reported', () => {
    writeFileSync(file, '2026-01-');
    const { clock, retention } = run(startMs);
    expect(retention.nowMs()).toBe(startMs);
    expect(lines).toEqual([expect.stringContaining('cannot be read')]);
    rmSync(folder, { recursive: true });
    clock.advance(2 * retentionStepMs);
    expect(lines).toHaveLength(2);
    expect(retention.nowMs()).toBe(startMs + 2 * retentionStepMs);
    retention.close();
  });
});
