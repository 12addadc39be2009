/** Which accepted commands become rows [points §6.1]. */
import { expect, test } from 'vitest';
import { createPointMemory } from '../points/shared-memory.ts';
import { createCommandObserver } from './commands.ts';

test('[points §6.1] a command is recorded when its value changes, and at intervals while it is repeated', () => {
  const memory = createPointMemory([{ channel: 0, writable: true }], 1);
  const observer = createCommandObserver([{ index: 0, instance: 3, id: 7 }], memory, 1000);
  const command = (value: number, atMs: number) => {
    memory.commandedValue[0] = value;
    memory.commandedMs[0] = atMs;
    return observer.look({ monotonicMs: atMs + 5, wallMs: 1_000_005 + atMs }).map((row) => [row.eventMs, row.value]);
  };
  expect(observer.look({ monotonicMs: 0, wallMs: 1_000_000 })).toEqual([]);
  expect(command(5, 100)).toEqual([[1_000_100, 5]]);
  expect(observer.look({ monotonicMs: 200, wallMs: 1_000_200 })).toEqual([]);
  expect(command(5, 1099)).toEqual([]);
  expect(command(5, 1100)).toEqual([[1_001_100, 5]]);
  expect(command(6, 1150)).toEqual([[1_001_150, 6]]);
  expect(observer.look({ monotonicMs: 1200, wallMs: 0 })).toEqual([]);
  memory.commandedMs[0] = 9999;
  expect(observer.look({ monotonicMs: 9999, wallMs: 1_009_999 })).toMatchObject([
    { series: { instance: 3, point: 7, kind: 'action' } },
  ]);
});
