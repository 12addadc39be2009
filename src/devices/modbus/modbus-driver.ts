/**
 * A Modbus channel [points §3.1]: one request in flight, commands and polls in turn, the connection closed when a request is not
 * answered, reconnect with bounded backoff. A point that cannot be read is bad; an old value is never reported as new.
 */
import type { Timer } from '../../base/clock.ts';
import { createFaultLog } from '../../base/log.ts';
import type { TakenCommand } from '../../points/command-slots.ts';
import { registersPerRequest } from '../../site/protocol/modbus-raw.ts';
import { quality } from '../../site/quality.ts';
import { BackOff } from '../back-off.ts';
import {
  type Driver,
  type DriverContext,
  type DriverFailure,
  type ScanAnswer,
  type ScanQuestion,
  uncommanded,
} from '../driver.ts';
import { BlockReadings } from './block-readings.ts';
import { type AskUnit, type ConnectionEnd, ModbusClient, type ModbusPlace, type OpenWire } from './modbus-client.ts';
import { blameOf, exceptionName, type ModbusAnswer, type ModbusRequest, type ReadCode } from './modbus-frame.ts';
import { answerWords, failureIn, requestWords, spanWords } from './modbus-words.ts';
import { type PollBlock, type PollGroup, pollGroups } from './poll-plan.ts';
import type { ModbusTable, RegisterPlace } from './register-place.ts';
import { type ScanOfUnit, scanRegisters } from './scan-registers.ts';
import { type AskInTurn, scanInTime } from './scan-turns.ts';
import { createUnits } from './units.ts';
import { writeRequest } from './write-request.ts';

export interface FoundPlaces {
  readonly places: ReadonlyMap<number, RegisterPlace>;
  /** Points that the device does not have, with the reason. */
  readonly missing: ReadonlyMap<number, string>;
}

export interface ModbusDriverParts {
  readonly connection: ModbusPlace & { readonly max_registers?: number };
  readonly context: DriverContext;
  /** Addresses of the points, read from the device after each connect; a text if the device is unusable, null without an answer. */
  readonly find: (ask: AskUnit) => Promise<FoundPlaces | string | null>;
  /** True if registers between two known ones can also be read. */
  readonly bridges: boolean;
  /** By default, registers are scanned. */
  readonly scan?: (ask: AskUnit, question: ScanOfUnit) => Promise<ScanAnswer | null>;
  readonly unit: number;
  readonly open: OpenWire | undefined;
}

interface Due {
  readonly group: PollGroup;
  readonly block: PollBlock;
}

/** A request in addition to polls and commands. */
interface Errand {
  readonly unit: number;
  readonly request: ModbusRequest;
  readonly settle: (answer: ModbusAnswer | string) => void;
}

type Kind = 'command' | 'poll' | 'errand';
/** The order of turns after each kind. */
const turns: Readonly<Record<Kind, readonly Kind[]>> = {
  command: ['poll', 'errand', 'command'],
  poll: ['command', 'errand', 'poll'],
  errand: ['command', 'poll', 'errand'],
};

export class ModbusDriver implements Driver {
  readonly #parts: ModbusDriverParts;
  readonly #context: DriverContext;
  readonly #units;
  readonly #faults;
  #places: ReadonlyMap<number, RegisterPlace> = new Map();
  #groups: readonly PollGroup[] = [];
  readonly #values = new BlockReadings();
  #client: ModbusClient | undefined;
  /** The addresses are known, and polls run. */
  #polls = false;
  /** The device has answered on this connection: commands are accepted only then. */
  #online = false;
  /** The device closed the connection after answers on it: the next poll, command or scan opens another. */
  #asleep = false;
  /** A command may be waiting. */
  #hasCommand = false;
  #busy = false;
  /** On this connection. */
  #hasBeenLate = false;
  /** True after the first lost connection or failed attempt. */
  #hasLost = false;
  #stopped = false;
  #last: Kind = 'errand';
  readonly #backOff: BackOff;
  #due: Due[] = [];
  #errands: Errand[] = [];
  readonly #pollTimers = new Map<PollGroup, Timer>();
  #reconnectTimer: Timer | undefined;

  constructor(parts: ModbusDriverParts) {
    this.#parts = parts;
    this.#context = parts.context;
    const { limits, log } = parts.context;
    this.#units = createUnits(parts.connection.timeout_ms, limits.unit_pause_max_ms);
    this.#faults = createFaultLog(log);
    this.#backOff = new BackOff(limits, parts.context.clock, parts.connection.timeout_ms);
  }

  start(): void {
    this.#connect();
  }

  wake(): void {
    this.#hasCommand = true;
    void this.#work();
  }

  async scan(question: ScanQuestion): Promise<ScanAnswer | null> {
    if (!this.#polls) return null;
    const ask: AskInTurn = (unit, request) =>
      new Promise((settle) => {
        if (!this.#polls) return settle(connectionEnded);
        this.#errands.push({ unit, request, settle });
        void this.#work();
      });
    const wanted = { unit: this.#parts.unit, ...question };
    const scan = this.#parts.scan ?? scanRegisters;
    const { clock, limits } = this.#context;
    return scanInTime(ask, clock, limits.scan_timeout_ms, (asking) => scan(asking, wanted));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    // Nothing opens a connection from now on.
    this.#polls = false;
    this.#cancelPolls();
    this.#reconnectTimer?.cancel();
    this.#context.setOnline(false);
    this.#client?.end('the driver stops');
  }

  #connect(): void {
    this.#asleep = false;
    const client = new ModbusClient(
      this.#parts.connection,
      this.#context.clock,
      {
        connected: () => void this.#begin(client),
        ended: (end) => this.#ended(client, end),
      },
      this.#parts.open,
    );
    this.#client = client;
  }

  async #begin(client: ModbusClient): Promise<void> {
    // Polls that run already had to skip a silent unit, or the device closed the connection after answers.
    if (!this.#polls) {
      const found = await this.#parts.find((unit, request) => this.#ask(client, unit, request));
      if (this.#client !== client || found === null) return;
      if (typeof found === 'string') return client.end(found);
      this.#adopt(found);
      this.#polls = true;
      // Nothing to ask: commands will show whether it answers.
      if (this.#groups.length === 0) this.#goOnline();
      for (const group of this.#groups) this.#poll(group, this.#context.clock.monotonicMs());
    }
    void this.#work();
  }

  /** The learned limits of the blocks persist while the addresses are the same. */
  #adopt({ places, missing }: FoundPlaces): void {
    const same =
      places.size === this.#places.size &&
      [...places].every(([index, place]) => isSame(place, this.#places.get(index)));
    if (!same) {
      this.#places = places;
      const items = [...places].flatMap(([index, place]) => (place.writeOnly === true ? [] : { index, place }));
      const maxRegisters = this.#parts.connection.max_registers ?? registersPerRequest;
      this.#groups = pollGroups(items, { maxRegisters, bridges: this.#parts.bridges });
    }
    for (const [index, message] of missing) {
      this.#context.readFailed([index], { code: 'refused', message });
      this.#faults.failed(`point ${this.#pointWords([index])}`, 'the device has no such point', { reason: message });
    }
  }

  #ended(client: ModbusClient, { reason, badUnit, afterAnswers }: ConnectionEnd): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    const nowMs = this.#context.clock.monotonicMs();
    if (afterAnswers && this.#polls && !this.#stopped) {
      this.#asleep = true;
      void this.#work();
      return;
    }
    if (badUnit !== null && this.#polls && !this.#stopped && this.#units.othersAnswer(badUnit, nowMs)) {
      this.#silent(badUnit, reason);
      this.#connect();
      return;
    }
    if (!this.#stopped) {
      this.#faults.failed('connection', 'channel failed', { reason });
      this.#context.readFailed(this.#allPoints(), { code: 'no-answer', message: reason });
    }
    this.#disconnected();
  }

  /** A unit is silent: its points are bad. It must not hold up others that answer, so it is skipped for a while. */
  #silent(unit: number, reason: string): void {
    const nowMs = this.#context.clock.monotonicMs();
    if (this.#units.othersAnswer(unit, nowMs)) this.#units.silent(unit, nowMs);
    this.#due = this.#due.filter(({ block }) => block.unit !== unit);
    const indexes = [...this.#places].flatMap(([index, place]) => (place.unit === unit ? [index] : []));
    const message = `unit ${unit} does not answer: ${reason}`;
    this.#context.readFailed(indexes, { code: 'no-answer', message });
    this.#faults.failed(`unit ${unit}`, 'unit does not answer', { unit, reason, points: this.#pointWords(indexes) });
  }

  /** Any answer, also a refusal, shows that the device is reachable. */
  #answered(unit: number, what: 'read' | 'write', refused: boolean): void {
    if (this.#stopped) return;
    this.#units.answered(unit, this.#context.clock.monotonicMs());
    this.#faults.worked(`unit ${unit}`);
    this.#context.answered(what, refused);
    if (!this.#online) this.#goOnline();
  }

  #goOnline(): void {
    this.#online = true;
    this.#backOff.began();
    this.#faults.worked('connection');
    this.#context.log.info('channel online');
    const unread = [...this.#places].flatMap(([index, place]) => (place.writeOnly === true ? index : []));
    if (this.#hasLost) this.#context.readFailed(unread, { code: 'no-answer', message: uncommanded });
    this.#context.setOnline(true);
  }

  #disconnected(): void {
    this.#online = false;
    this.#polls = false;
    this.#hasBeenLate = false;
    this.#hasLost = true;
    this.#context.setOnline(false);
    this.#cancelPolls();
    this.#values.clear();
    for (const { settle } of this.#errands.splice(0)) settle(connectionEnded);
    if (this.#stopped) return;
    this.#context.forget();
    this.#reconnectTimer = this.#context.clock.after(this.#backOff.ended(), () => this.#connect());
  }

  #cancelPolls(): void {
    for (const timer of this.#pollTimers.values()) timer.cancel();
    this.#pollTimers.clear();
    this.#due = [];
  }

  /** Every block becomes due once per interval; a device slower than the interval is read less often. */
  #poll(group: PollGroup, dueMs: number): void {
    const nowMs = this.#context.clock.monotonicMs();
    const isBehind = this.#due.some((due) => due.group === group);
    if (isBehind) this.#late(group);
    else if (this.#units.mayAsk(group.unit, nowMs)) this.#due.push(...group.begin().map((block) => ({ group, block })));
    const nextMs = Math.max(dueMs + group.intervalMs, nowMs);
    this.#pollTimers.set(
      group,
      this.#context.clock.after(nextMs - nowMs, () => this.#poll(group, nextMs)),
    );
    void this.#work();
  }

  /** Logged once for each connection, and counted. */
  #late({ unit, intervalMs }: PollGroup): void {
    this.#context.late();
    if (this.#hasBeenLate) return;
    this.#hasBeenLate = true;
    this.#context.log.warn('a poll was left out: the device is slower than its interval', {
      unit,
      interval_ms: intervalMs,
    });
  }

  /** One request at a time; commands, polls and scans take turns. */
  async #work(): Promise<void> {
    if (this.#busy || !this.#polls) return;
    if (this.#asleep) {
      // Only for polls: a device that closes after each answer would get its safe values without end.
      if (this.#due.length > 0) this.#context.reconnected();
      if (this.#hasCommand || this.#due.length + this.#errands.length > 0) this.#connect();
      return;
    }
    this.#busy = true;
    while (this.#client?.isOpen === true) {
      const turn = this.#next(this.#client);
      if (turn === null) {
        this.#hasCommand = false;
        break;
      }
      await turn();
    }
    // Nothing is awaited between the last look and this: work that comes in such a gap finds the loop busy, and waits for the next poll.
    this.#busy = false;
    if (this.#asleep) void this.#work();
  }

  /** Null if there is nothing to do. */
  #next(client: ModbusClient): (() => Promise<void>) | null {
    for (const kind of turns[this.#last]) {
      const command = kind === 'command' && this.#online ? this.#context.nextCommand() : null;
      const due = kind === 'poll' ? this.#due.shift() : undefined;
      const errand = kind === 'errand' ? this.#errands.shift() : undefined;
      if (command === null && due === undefined && errand === undefined) continue;
      this.#last = kind;
      if (command !== null) return () => this.#send(client, command);
      if (due !== undefined) return () => this.#read(client, due);
      if (errand !== undefined) return () => this.#run(client, errand);
    }
    return null;
  }

  async #run(client: ModbusClient, { unit, request, settle }: Errand): Promise<void> {
    settle((await this.#ask(client, unit, request)) ?? client.reason ?? connectionEnded);
  }

  async #ask(client: ModbusClient, unit: number, request: ModbusRequest): Promise<ModbusAnswer | null> {
    const { clock } = this.#context;
    const startedMs = clock.monotonicMs();
    const answer = await client.request(unit, request);
    this.#context.exchanged({
      atMs: clock.wallMs(),
      durationMs: clock.monotonicMs() - startedMs,
      request: requestWords(unit, request),
      answer: answerWords(answer, request),
      result: answer === null ? 'no-answer' : answer.kind === 'exception' ? 'refused' : 'answered',
    });
    return answer;
  }

  async #send(client: ModbusClient, command: TakenCommand): Promise<void> {
    const place = this.#places.get(command.index);
    const point = this.#pointWords([command.index]);
    const refuse = (failure: DriverFailure): void => {
      this.#context.commandDone(command, failure);
      this.#faults.failed(`write ${point}`, 'modbus write failed', { point, reason: failure.message });
    };
    if (place === undefined) return refuse({ code: 'not-encodable', message: 'the device has no such point' });
    const { unit } = place;
    if (!this.#units.mayAsk(unit, this.#context.clock.monotonicMs()))
      return refuse({ code: 'no-answer', message: `unit ${unit} does not answer` });
    const exponent = this.#values.scaleOf(place) ?? undefined;
    const write = writeRequest(place, command.value, exponent);
    if (typeof write === 'string') return refuse({ code: 'not-encodable', message: write });
    const answer = await this.#ask(client, unit, write.request);
    if (answer?.kind !== 'written') refuse(failureIn(answer));
    else {
      this.#context.commandDone(command, null);
      this.#faults.worked(`write ${point}`);
      // The device confirmed it; the next poll reads it back.
      this.#context.publish([
        { index: command.index, raw: write.held, exponent: exponent ?? 0, quality: quality.good },
      ]);
    }
    if (answer !== null) this.#answered(unit, 'write', answer.kind !== 'written');
  }

  async #read(client: ModbusClient, { group, block }: Due): Promise<void> {
    const { unit, table, start, count } = block;
    const answer = await this.#ask(client, unit, { code: readCodes[table], start, count });
    if (answer === null) {
      // The device may have closed the connection before the request came: it is sent once more. Otherwise all readings are bad already.
      if (this.#asleep) this.#due.unshift({ group, block });
      return;
    }
    const words = `${table} ${spanWords(start, count)} of unit ${unit}`;
    if (answer.kind === 'exception' && blameOf(answer.code) === 'unit') {
      this.#context.answered('read', true);
      this.#silent(unit, exceptionName(answer.code));
      return;
    }
    this.#answered(unit, 'read', answer.kind !== 'data');
    if (answer.kind === 'data') {
      group.read(block);
      this.#faults.worked(words);
      this.#publish(block, answer.bytes);
      return;
    }
    const indexes = block.items.flatMap(({ index }) => index ?? []);
    this.#context.readFailed(indexes, failureIn(answer));
    this.#values.refused(block);
    if (answer.kind !== 'exception') return;
    const points = this.#pointWords(indexes);
    const reason = exceptionName(answer.code);
    this.#faults.failed(words, 'modbus read refused', { unit, table, register: start, count, points, reason });
    if (blameOf(answer.code) === 'registers')
      this.#due.unshift(...group.refused(block).map((half) => ({ group, block: half })));
  }

  #publish(block: PollBlock, bytes: Buffer): void {
    const { readings, unscaled } = this.#values.decode(block, bytes);
    for (const [index, message] of unscaled) this.#context.readFailed([index], { code: 'unreadable', message });
    this.#context.publish(readings);
  }

  #allPoints(): number[] {
    return this.#context.points.map(({ index }) => index);
  }

  /** Such as `2:measurement:1 soc`, and the number of further ones. */
  #pointWords(indexes: readonly number[]): string {
    const [first, ...more] = indexes.flatMap(
      (index) => this.#context.points.find((point) => point.index === index) ?? [],
    );
    if (first === undefined) return 'none';
    const words = `${first.instance}:${first.kind}:${first.id} ${first.name}`;
    return more.length === 0 ? words : `${words} and ${more.length} more`;
  }
}

const connectionEnded = 'the connection ended';

const readCodes: Readonly<Record<ModbusTable, ReadCode>> = { coil: 1, discrete: 2, holding: 3, input: 4 };

function isSame(a: RegisterPlace, b: RegisterPlace | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
