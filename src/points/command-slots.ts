/**
 * Command slots: the local command path (§1, §6.3). One slot per point, written by the engine, emptied by the device
 * layer. A slot that is still full refuses the next command: nothing is ever queued (§6.5).
 */
import type { Clock } from '../base/clock.ts';
import { ring } from '../base/doorbell.ts';
import type { Command, CommandAnswer, CommandPort } from '../rules/command-port.ts';
import { currentGeneration, doorbells, mayCommand, type PointMemory, slotState } from './shared-memory.ts';

export function createCommandWriter(memory: PointMemory, clock: Clock): CommandPort {
  return { submit: (command) => submit(memory, clock, command) };
}

function submit(memory: PointMemory, clock: Clock, command: Command): CommandAnswer {
  const slot = command.pointIndex;
  if (memory.writable[slot] !== 1) return 'no-route';
  const refused = (): CommandAnswer | null => {
    if (currentGeneration(memory) !== command.generation) return 'stale-generation';
    return Atomics.load(memory.online, memory.channelOf[slot] ?? 0) === 1 ? null : 'offline';
  };
  // Before and after the write (§6.4): a decision made under another generation is dropped, and so is one whose channel
  // went offline meanwhile: the device layer empties the slots right after it said so.
  const before = refused();
  if (before !== null) return before;
  if (Atomics.load(memory.slotState, slot) !== slotState.empty) return 'unavailable';
  const nowMs = clock.monotonicMs();
  if (!mayCommand(memory, nowMs)) return 'unavailable';
  memory.slotValue[slot] = command.value;
  memory.slotIssuedMs[slot] = nowMs;
  memory.slotGeneration[slot] = command.generation;
  Atomics.store(memory.slotState, slot, slotState.full);
  const after = refused();
  if (after !== null) {
    Atomics.compareExchange(memory.slotState, slot, slotState.full, slotState.empty);
    return after;
  }
  ring(memory.doorbells, doorbells.commands);
  return 'accepted';
}

export interface TakenCommand {
  readonly index: number;
  readonly value: number;
}

export interface CommandTaker {
  /** Empties the slot of one point. Null when it is empty, or when its command is too old or of another generation. */
  take(index: number): TakenCommand | null;
  /** Empties the slot of one point without sending what is in it. */
  drop(index: number): void;
  readonly dropped: () => number;
}

/** Device side. A command older than `commandMaxAgeMs` is dropped, not sent: a late command is no command. */
export function createCommandTaker(
  memory: PointMemory,
  clock: Clock,
  generation: number,
  commandMaxAgeMs: number,
): CommandTaker {
  let dropped = 0;
  return {
    dropped: () => dropped,
    drop(index) {
      const previous = Atomics.exchange(memory.slotState, index, slotState.empty);
      if (previous === slotState.full) dropped++;
    },
    take(index) {
      if (Atomics.load(memory.slotState, index) !== slotState.full) return null;
      const value = memory.slotValue[index] ?? Number.NaN;
      const nowMs = clock.monotonicMs();
      const ageMs = nowMs - (memory.slotIssuedMs[index] ?? 0);
      const sameGeneration = memory.slotGeneration[index] === generation && currentGeneration(memory) === generation;
      Atomics.store(memory.slotState, index, slotState.empty);
      const isCurrent = sameGeneration && mayCommand(memory, nowMs) && ageMs <= commandMaxAgeMs;
      if (isCurrent && Number.isFinite(value)) return { index, value };
      dropped++;
      return null;
    },
  };
}
