/**
 * Command slots: the local command path [points §4.1]. One slot per point, written by the engine, emptied by the device
 * layer. That is not a queue [points §4.1]: a slot holds one command or none. One that the device layer has not taken yet gives
 * way to a command of equal or higher priority and refuses a lower one [points §4.1].
 */
import type { Clock } from '../base/clock.ts';
import { ring } from '../base/doorbell.ts';
import type { Command, CommandAnswer, CommandPort, CommandSource } from '../site/command-port.ts';
import {
  betweenLooks,
  commandOutcomes,
  currentGeneration,
  doorbells,
  dropCommand,
  isOnline,
  looksMax,
  mayCommand,
  type PointMemory,
  slotState,
  type Wait,
} from './shared-memory.ts';

export interface CommandWriter extends CommandPort {
  /** Commands that gave way to a later one before the device layer took them. */
  superseded(): number;
  /** The command that was accepted last at a point, and what became of it; null before the first one. */
  last(pointIndex: number): LastCommand | null;
  /** Bounds what the device layer writes of itself. */
  bound(pointIndex: number, low: number, high: number): void;
  /** How often the device layer has written the safe value. */
  safeWrites(pointIndex: number): number;
}

/** `accepted` until the driver has reported. */
type CommandResult = 'accepted' | 'written' | 'failed' | 'expired';

export interface LastCommand {
  /** As it was asked for, and within limits and rounded. */
  readonly asked: number;
  readonly value: number;
  readonly by: CommandSource;
  /** Monotonic milliseconds. */
  readonly atMs: number;
  readonly result: CommandResult;
}

function resultOf(memory: PointMemory, slot: number, serial: number): CommandResult {
  if (Atomics.load(memory.outcomeSerial, slot) !== serial) return 'accepted';
  const code = Atomics.load(memory.outcome, slot);
  if (code === commandOutcomes.written) return 'written';
  return code === commandOutcomes.failed ? 'failed' : 'expired';
}

/** Whether the last command of which the driver reported was not carried out, although the channel of the point is online. */
export function lastCommandFailed(memory: PointMemory, slot: number): boolean {
  const code = Atomics.load(memory.outcome, slot);
  return (code === commandOutcomes.failed || code === commandOutcomes.expired) && isOnline(memory, slot);
}

/** Engine side: the one writer of the slots. */
export function createCommandWriter(memory: PointMemory, clock: Clock, wait?: Wait): CommandWriter {
  let superseded = 0;
  const last = new Map<number, Omit<LastCommand, 'result'> & { readonly serial: number }>();
  return {
    superseded: () => superseded,
    last: (slot) => {
      const command = last.get(slot);
      return command === undefined ? null : { ...command, result: resultOf(memory, slot, command.serial) };
    },
    bound(slot, low, high) {
      memory.limitLow[slot] = low;
      memory.limitHigh[slot] = high;
    },
    safeWrites: (slot) => Atomics.load(memory.safeWrites, slot),
    submit({ pointIndex: slot, value, priority, generation, asked, by }: Command): CommandAnswer {
      if (memory.writable[slot] !== 1) return 'no-route';
      const refused = (): CommandAnswer | null => {
        if (currentGeneration(memory) !== generation) return 'stale-generation';
        return isOnline(memory, slot) ? null : 'offline';
      };
      // Before and after the write [points §4.2]: a decision made under another generation is dropped, and so is one whose
      // channel went offline meanwhile: the device layer empties the slots right after it said so.
      const before = refused();
      if (before !== null) return before;
      const nowMs = clock.monotonicMs();
      if (!mayCommand(memory, nowMs)) return 'unavailable';
      const claimed = claim(memory, slot, priority, wait);
      if (claimed === 'refused') return 'unavailable';
      memory.slotValue[slot] = value;
      memory.slotPriority[slot] = priority;
      memory.slotIssuedMs[slot] = nowMs;
      memory.slotGeneration[slot] = generation;
      const serial = Atomics.add(memory.slotSerial, slot, 1) + 1;
      Atomics.store(memory.slotState, slot, slotState.full);
      if (claimed === 'replaces') superseded++;
      const after = refused();
      if (after !== null) {
        Atomics.compareExchange(memory.slotState, slot, slotState.full, slotState.empty);
        return after;
      }
      memory.commandedValue[slot] = value;
      memory.commandedMs[slot] = nowMs;
      last.set(slot, { serial, asked, value, by, atMs: nowMs });
      ring(memory.doorbells, doorbells.commands);
      return 'accepted';
    },
  };
}

/** Makes the slot the writer's, or says that a command of higher priority is in it. */
function claim(memory: PointMemory, slot: number, priority: number, wait?: Wait): 'empty' | 'replaces' | 'refused' {
  for (let look = 0; look < looksMax; look++) {
    const state = Atomics.load(memory.slotState, slot);
    // Only an engine that died leaves a slot in `writing`: there is one writer.
    if (state === slotState.empty || state === slotState.writing) {
      Atomics.store(memory.slotState, slot, slotState.writing);
      return 'empty';
    }
    if (state !== slotState.full) {
      betweenLooks(look, memory.slotState, slot, state, wait);
      continue;
    }
    if (priority < (memory.slotPriority[slot] ?? 0)) return 'refused';
    if (Atomics.compareExchange(memory.slotState, slot, slotState.full, slotState.writing) === slotState.full)
      return 'replaces';
  }
  return 'refused';
}

export interface TakenCommand {
  readonly index: number;
  readonly value: number;
  /** Its number in the slot; 0 for what the device layer writes of itself. */
  readonly serial: number;
}

export interface CommandTaker {
  /** Empties the slot of one point. Null when it is empty, or when its command is too old or of another generation. */
  take(index: number): TakenCommand | null;
  /** Empties the slot of one point without sending what is in it. */
  drop(index: number): void;
  /** The driver's report on a command that it took. */
  report(index: number, serial: number, written: boolean): void;
  /** Commands of one point that were emptied unsent. */
  dropped(index: number): number;
}

/** Device side. A command older than `commandMaxAgeMs` is dropped, not sent: a late command is not a command. */
export function createCommandTaker(
  memory: PointMemory,
  clock: Clock,
  generation: number,
  commandMaxAgeMs: number,
): CommandTaker {
  const dropped = new Map<number, number>();
  const drop = (index: number): void => void dropped.set(index, (dropped.get(index) ?? 0) + 1);
  const tell = (index: number, serial: number, outcome: number): void => {
    Atomics.store(memory.outcome, index, outcome);
    Atomics.store(memory.outcomeSerial, index, serial);
  };
  return {
    dropped: (index) => dropped.get(index) ?? 0,
    drop(index) {
      if (dropCommand(memory, index)) drop(index);
    },
    report: (index, serial, written) => tell(index, serial, written ? commandOutcomes.written : commandOutcomes.failed),
    take(index) {
      if (Atomics.compareExchange(memory.slotState, index, slotState.full, slotState.taking) !== slotState.full)
        return null;
      const serial = Atomics.load(memory.slotSerial, index);
      const value = memory.slotValue[index] ?? Number.NaN;
      const nowMs = clock.monotonicMs();
      const ageMs = nowMs - (memory.slotIssuedMs[index] ?? 0);
      const sameGeneration = memory.slotGeneration[index] === generation && currentGeneration(memory) === generation;
      Atomics.store(memory.slotState, index, slotState.empty);
      const isCurrent = sameGeneration && mayCommand(memory, nowMs) && ageMs <= commandMaxAgeMs;
      if (isCurrent && Number.isFinite(value)) return { index, value, serial };
      tell(index, serial, commandOutcomes.expired);
      drop(index);
      return null;
    },
  };
}
