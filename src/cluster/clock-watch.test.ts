/** Clocks of the machines of one site (docs/guides/several-machines.md). */
import { expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { ClockWatch, clockDifferenceMs } from './clock-watch.ts';

test('the least difference that question and answer allow', () => {
  expect(clockDifferenceMs(1000, 1000, 1400)).toBe(0);
  expect(clockDifferenceMs(1000, 1400, 1400)).toBe(0);
  expect(clockDifferenceMs(1000, 999, 1400)).toBe(1);
  expect(clockDifferenceMs(1000, 1401, 1400)).toBe(-1);
});

test('the permitted difference, at its edge: one warning while it lasts, measured once a minute', async () => {
  const clock = simulatedClock(1_700_000_000_000);
  const mostMs = 1000;
  const lines: string[] = [];
  const tell = (message: string, fields?: object): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const watch = new ClockWatch(clock, { ...silentLog, warn: tell, info: tell }, mostMs);
  let aheadMs = mostMs;
  let measured = 0;
  const look = async (): Promise<void> => {
    const run = async () => {
      measured++;
      return [{ now_ms: clock.wallMs() - aheadMs }];
    };
    await watch.look({ run } as unknown as Parameters<typeof watch.look>[0]);
  };
  const minuteLater = async (): Promise<void> => {
    clock.advance(59_999);
    await look();
    clock.advance(1);
    await look();
  };
  expect(watch.aheadMs()).toBe(null);
  await look();
  expect([measured, lines, watch.aheadMs()]).toEqual([1, [], mostMs]);
  aheadMs++;
  await minuteLater();
  await minuteLater();
  expect([measured, lines.length]).toEqual([3, 1]);
  expect(lines[0]).toContain('{"ahead_ms":1001}');
  aheadMs = -mostMs;
  await minuteLater();
  expect(lines.slice(1)).toEqual([expect.stringContaining('agrees')]);
  aheadMs--;
  await minuteLater();
  expect(lines.at(-1)).toContain('{"ahead_ms":-1001}');
});
