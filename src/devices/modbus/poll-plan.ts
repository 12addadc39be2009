/**
 * The grouping of reads, and the limits learned for it [points §3.1]: pure. Points of one unit and interval form a group; their
 * registers are read in blocks. A block that the device refuses is halved until the missing register is isolated; the result is kept
 * until the channel restarts.
 */
import { bitsPerRequest } from '../../site/protocol/modbus-raw.ts';
import { isBits, type ModbusTable, type RegisterPlace } from './register-place.ts';

export interface PollItem {
  /** Of the point; undefined for a register that only scales others. */
  readonly index: number | undefined;
  readonly place: RegisterPlace;
}

export interface PollBlock {
  readonly unit: number;
  readonly table: ModbusTable;
  readonly start: number;
  readonly count: number;
  readonly items: readonly PollItem[];
}

export interface BlockBounds {
  readonly maxRegisters: number;
  /** True if every register between two known ones can be read too. */
  readonly bridges: boolean;
}

/** Cycles in which a block is only read whole after halving did not help; doubles each time up to this. */
const pauseMaximum = 64;

/** A block as it is read now: whole, or in the parts that the device accepts. */
interface Family {
  readonly whole: PollBlock;
  parts: PollBlock[];
  /** Whether any of its values was read in this cycle, and whether any was refused. */
  read: boolean;
  refused: boolean;
  /** Cycles until it may be halved again, and how many those were last time. */
  pause: number;
  pauses: number;
}

export interface PollGroup {
  readonly unit: number;
  readonly intervalMs: number;
  /** Starts a cycle: the blocks to read. */
  begin(): PollBlock[];
  /** Its values have been read. */
  read(block: PollBlock): void;
  /** The halves to read instead, now and later; none if it cannot be halved. */
  refused(block: PollBlock): readonly PollBlock[];
}

export function pollGroups(items: readonly PollItem[], bounds: BlockBounds): PollGroup[] {
  const groups = Map.groupBy(items, ({ place: { unit, intervalMs } }) => `${unit} ${intervalMs}`);
  return [...groups.values()].flatMap((members): PollGroup[] => {
    const [first] = members;
    return first === undefined ? [] : [new Group(members, first.place, bounds)];
  });
}

class Group implements PollGroup {
  readonly unit: number;
  readonly intervalMs: number;
  readonly #bounds: BlockBounds;
  readonly #families: readonly Family[];

  constructor(items: readonly PollItem[], { unit, intervalMs }: RegisterPlace, bounds: BlockBounds) {
    this.unit = unit;
    this.intervalMs = intervalMs;
    this.#bounds = bounds;
    this.#families = scalesFirst(pollBlocks(withScales(items), bounds)).map((whole) => ({
      whole,
      parts: [whole],
      read: false,
      refused: false,
      pause: 0,
      pauses: 0,
    }));
  }

  begin(): PollBlock[] {
    for (const family of this.#families) {
      // Halving did not help, so the cause was not a single register.
      if (family.refused && !family.read && family.parts.length > 1) {
        family.parts = [family.whole];
        family.pauses = Math.min(Math.max(1, family.pauses * 2), pauseMaximum);
        family.pause = family.pauses;
      } else if (family.pause > 0) family.pause--;
      family.read = false;
      family.refused = false;
    }
    return this.#families.flatMap(({ parts }) => parts);
  }

  read(block: PollBlock): void {
    const family = this.#familyOf(block);
    if (family === undefined) return;
    family.read = true;
    family.pauses = 0;
  }

  refused(block: PollBlock): readonly PollBlock[] {
    const family = this.#familyOf(block);
    if (family === undefined) return [];
    family.refused = true;
    if (family.pause > 0 || block.items.length < 2) return [];
    const halves = scalesFirst(halved(block, this.#bounds));
    family.parts = family.parts.flatMap((part) => (part === block ? halves : [part]));
    return halves;
  }

  #familyOf(block: PollBlock): Family | undefined {
    return this.#families.find(({ parts }) => parts.includes(block));
  }
}

/** The points, and each register that scales any of them once. */
function withScales(items: readonly PollItem[]): PollItem[] {
  const scales = new Map<string, PollItem>();
  for (const { place } of items) {
    if (place.scaleFrom === undefined) continue;
    scales.set(`${place.table} ${place.scaleFrom}`, { index: undefined, place: scalePlace(place, place.scaleFrom) });
  }
  return [...items, ...scales.values()];
}

function scalePlace(place: RegisterPlace, register: number): RegisterPlace {
  return {
    ...place,
    register,
    encoding: { type: 'int16', length: 1, wordOrder: 'big', byteOrder: place.encoding.byteOrder, bit: undefined },
    scaleFrom: undefined,
  };
}

/** A value is scaled by its register's value in the same cycle. */
function scalesFirst(blocks: readonly PollBlock[]): PollBlock[] {
  const scales = ({ items }: PollBlock): number => (items.some(({ index }) => index === undefined) ? 0 : 1);
  return blocks.toSorted((a, b) => scales(a) - scales(b));
}

function halved(block: PollBlock, bounds: BlockBounds): PollBlock[] {
  const middle = Math.ceil(block.items.length / 2);
  return [block.items.slice(0, middle), block.items.slice(middle)].flatMap((items) => pollBlocks(items, bounds));
}

/**
 * Items of one unit in read requests: same table, within the bounds of one request. Gaps are not read across unless the
 * bounds allow it, because many devices refuse a request that touches a register they do not have.
 */
export function pollBlocks(items: readonly PollItem[], { maxRegisters, bridges }: BlockBounds): PollBlock[] {
  const sorted = items.toSorted((a, b) =>
    a.place.table === b.place.table ? a.place.register - b.place.register : a.place.table.localeCompare(b.place.table),
  );
  const blocks: (Omit<PollBlock, 'count' | 'items'> & { count: number; items: PollItem[] })[] = [];
  for (const item of sorted) {
    const { unit, table, register, encoding } = item.place;
    const end = register + encoding.length;
    const last = blocks.at(-1);
    const maximum = isBits(table) ? bitsPerRequest : maxRegisters;
    const joins = last !== undefined && last.table === table && (bridges || register <= last.start + last.count);
    if (joins && end - last.start <= maximum) {
      last.count = Math.max(last.count, end - last.start);
      last.items.push(item);
    } else blocks.push({ unit, table, start: register, count: encoding.length, items: [item] });
  }
  return blocks;
}
