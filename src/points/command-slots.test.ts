/** Command slots: accepted or refused at once, never queued, never delivered late or to another generation. */
import { describe, expect, test } from 'vitest';
import type { CommandAnswer } from '../site/command-port.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { createCommandTaker, createCommandWriter, lastCommandFailed } from './command-slots.ts';
import { beginGeneration, createPointMemory, currentGeneration, doorbells, slotState } from './shared-memory.ts';

const maxAgeMs = 1000;
const by = { kind: 'rule', id: '1' } as const;

/** Points 0 and 1 can be written, point 2 cannot; point 1 is on another channel. All channels are online. */
function slots() {
  const clock = simulatedClock();
  const memory = createPointMemory(
    [
      { channel: 0, writable: true },
      { channel: 1, writable: true },
      { channel: 0, writable: false },
    ],
    2,
  );
  const generation = beginGeneration(memory);
  const online = (channel: number, is = true): void => void Atomics.store(memory.online, channel, is ? 1 : 0);
  online(0);
  online(1);
  const writer = createCommandWriter(memory, clock);
  const taker = createCommandTaker(memory, clock, generation, maxAgeMs);
  const submit = (pointIndex: number, value: number, decidedIn = generation, priority = 0): CommandAnswer =>
    writer.submit({ pointIndex, value, priority, generation: decidedIn, asked: value, by });
  return { clock, memory, generation, online, writer, taker, submit };
}

describe('[points §4.1] a command is accepted now or has failed', () => {
  test('an accepted command is taken once, and the device layer is woken', () => {
    const { memory, submit, taker } = slots();
    expect(submit(0, 12.5)).toBe('accepted');
    expect(Atomics.load(memory.doorbells, doorbells.commands)).toBe(1);
    expect(taker.take(0)).toEqual(expect.objectContaining({ index: 0, value: 12.5 }));
    expect(taker.take(0)).toBeNull();
    expect(taker.dropped(0)).toBe(0);
  });

  test('[points §4.1] a full slot accepts a command of equal or higher priority and refuses a lower one: one command or none', () => {
    const { generation, submit, taker, writer } = slots();
    const write = (value: number, priority: number) => submit(0, value, generation, priority);
    expect([write(1, 5), write(2, 4), write(3, 5), write(4, 100), write(5, 99)]).toEqual([
      'accepted',
      'unavailable',
      'accepted',
      'accepted',
      'unavailable',
    ]);
    expect(writer.superseded()).toBe(2);
    expect(taker.take(0)).toEqual(expect.objectContaining({ index: 0, value: 4 }));
    expect(taker.take(0)).toBeNull();
    expect(write(6, 0)).toBe('accepted');
    expect([taker.take(0), writer.superseded(), taker.dropped(0)]).toEqual([
      expect.objectContaining({ index: 0, value: 6 }),
      2,
      0,
    ]);
  });

  test('[points §4.1] a replaced command has the age of its replacement', () => {
    const { clock, submit, taker } = slots();
    submit(0, 1);
    clock.advance(maxAgeMs);
    submit(0, 2);
    clock.advance(maxAgeMs);
    expect(taker.take(0)).toEqual(expect.objectContaining({ index: 0, value: 2 }));
  });

  test('a slot that the device layer is taking is not written into; one that a dead engine was writing is free', () => {
    const { memory, submit, taker } = slots();
    Atomics.store(memory.slotState, 0, slotState.taking);
    expect(submit(0, 1)).toBe('unavailable');
    Atomics.store(memory.slotState, 0, slotState.writing);
    expect(taker.take(0)).toBeNull();
    expect(submit(0, 2)).toBe('accepted');
    expect(taker.take(0)).toEqual(expect.objectContaining({ index: 0, value: 2 }));
  });

  test('the last command of which the driver reported failed, while the channel is online', () => {
    const { clock, memory, online, submit, taker } = slots();
    const failed = () => lastCommandFailed(memory, 0);
    const sent = (written: boolean): void => {
      submit(0, 1);
      const command = taker.take(0);
      taker.report(0, command?.serial ?? -1, written);
    };
    expect(failed()).toBe(false);
    sent(false);
    expect(failed()).toBe(true);
    submit(0, 2);
    expect(failed()).toBe(true);
    online(0, false);
    expect(failed()).toBe(false);
    online(0);
    taker.take(0);
    sent(true);
    expect(failed()).toBe(false);
    // Not taken in time: never sent.
    submit(0, 3);
    clock.advance(maxAgeMs + 1);
    taker.take(0);
    expect(failed()).toBe(true);
  });

  test('a device layer that lost its processor while it was taking a command is waited for', () => {
    const { clock, memory, generation } = slots();
    let waits = 0;
    const writer = createCommandWriter(memory, clock, (cells, slot, seen) => {
      expect([cells === memory.slotState, slot, seen]).toEqual([true, 0, slotState.taking]);
      if (++waits === 99) Atomics.store(memory.slotState, 0, slotState.empty);
    });
    const submit = () => writer.submit({ pointIndex: 0, value: 1, priority: 0, generation, asked: 1, by });
    Atomics.store(memory.slotState, 0, slotState.taking);
    expect([submit(), waits]).toEqual(['accepted', 99]);
    Atomics.store(memory.slotState, 0, slotState.taking);
    expect([submit(), waits]).toEqual(['unavailable', 199]);
  });

  test('a point that is not written has no route; an offline channel refuses; no slot is filled and no bell rung', () => {
    const { memory, online, submit, taker } = slots();
    online(1, false);
    expect(submit(2, 1)).toBe('no-route');
    expect(submit(1, 1)).toBe('offline');
    expect([0, 1, 2].map((index) => taker.take(index))).toEqual([null, null, null]);
    expect(Atomics.load(memory.doorbells, doorbells.commands)).toBe(0);
    expect(submit(0, 1)).toBe('accepted');
  });

  test('a command of exactly command_max_age_ms is sent, an older one is dropped and counted', () => {
    const { clock, submit, taker } = slots();
    submit(0, 1);
    submit(1, 2);
    clock.advance(maxAgeMs);
    expect(taker.take(0)).toEqual(expect.objectContaining({ index: 0, value: 1 }));
    clock.advance(1);
    expect(taker.take(1)).toBeNull();
    expect(taker.dropped(1)).toBe(1);
    expect(submit(1, 2)).toBe('accepted');
  });

  test('a wall clock that jumps changes no age', () => {
    const { clock, submit, taker } = slots();
    submit(0, 1);
    clock.jumpWall(3_600_000);
    expect(taker.take(0)).toEqual(expect.objectContaining({ index: 0, value: 1 }));
  });

  test('[points §8.1] the last command is accepted until it is reported, and expired when it is dropped or too old', () => {
    const { clock, submit, taker, writer } = slots();
    expect(writer.last(0)).toBeNull();
    submit(0, 1);
    expect(writer.last(0)).toMatchObject({ value: 1, by, result: 'accepted', atMs: clock.monotonicMs() });
    const taken = taker.take(0);
    taker.report(0, taken?.serial ?? 0, true);
    expect(writer.last(0)?.result).toBe('written');
    submit(0, 2);
    const second = taker.take(0);
    submit(0, 3);
    // A report on the earlier command says nothing about the newest.
    taker.report(0, second?.serial ?? 0, false);
    expect(writer.last(0)).toMatchObject({ value: 3, result: 'accepted' });
    taker.drop(0);
    expect(writer.last(0)?.result).toBe('expired');
    submit(0, 4);
    clock.advance(maxAgeMs + 1);
    taker.take(0);
    expect(writer.last(0)?.result).toBe('expired');
  });

  test('drop empties a slot and counts its command', () => {
    const { submit, taker } = slots();
    submit(0, 1);
    taker.drop(0);
    taker.drop(1);
    expect([taker.take(0), taker.dropped(0)]).toEqual([null, 1]);
  });
});

describe('[points §4.2] generations', () => {
  test('a decision of another generation is refused', () => {
    const { memory, generation, submit, taker } = slots();
    expect(submit(0, 1, generation - 1)).toBe('stale-generation');
    expect(submit(0, 1, generation + 1)).toBe('stale-generation');
    expect(taker.take(0)).toBeNull();
    expect(Atomics.load(memory.doorbells, doorbells.commands)).toBe(0);
  });

  test('commands in flight are dropped, and channels are offline until the new device layer has them', () => {
    const { clock, memory, submit } = slots();
    submit(0, 1);
    const next = beginGeneration(memory);
    const newTaker = createCommandTaker(memory, clock, next, maxAgeMs);
    expect(newTaker.take(0)).toBeNull();
    expect(submit(0, 1)).toBe('stale-generation');
    expect(submit(0, 1, next)).toBe('offline');
  });

  test('[points §8.1] a command in flight has expired when the generation changes', () => {
    const { memory, submit, writer } = slots();
    submit(0, 1);
    beginGeneration(memory);
    expect(writer.last(0)?.result).toBe('expired');
  });

  test('a command that slips in while the generation changes is never sent', () => {
    const { clock, memory, submit, taker, generation } = slots();
    submit(0, 1);
    // As if the slot had been filled after the new generation cleared it.
    const next = beginGeneration(memory);
    memory.slotGeneration[0] = generation;
    Atomics.store(memory.slotState, 0, slotState.full);
    expect(createCommandTaker(memory, clock, next, maxAgeMs).take(0)).toBeNull();
    Atomics.store(memory.slotState, 0, slotState.full);
    expect(taker.take(0)).toBeNull();
  });

  /** Runs `meanwhile` between the two checks of a submission. */
  function submitInterrupted(meanwhile: (memory: ReturnType<typeof slots>['memory']) => void) {
    const { clock, memory, generation } = slots();
    const interrupted = {
      ...clock,
      monotonicMs: () => {
        meanwhile(memory);
        return clock.monotonicMs();
      },
    };
    const answer = createCommandWriter(memory, interrupted).submit({
      pointIndex: 0,
      value: 1,
      priority: 0,
      generation,
      asked: 1,
      by,
    });
    return { answer, slot: Atomics.load(memory.slotState, 0), current: currentGeneration(memory) };
  }

  test('the generation is checked after the write too', () => {
    const { answer, slot, current } = submitInterrupted(beginGeneration);
    expect([answer, slot, current]).toEqual(['stale-generation', slotState.empty, 2]);
  });

  test('a channel that goes offline during a submission does not keep the command', () => {
    const { answer, slot } = submitInterrupted((memory) => void Atomics.store(memory.online, 0, 0));
    expect([answer, slot]).toEqual(['offline', slotState.empty]);
  });
});
