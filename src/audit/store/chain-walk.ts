/**
 * Verification of one chain [audit §6], event by event, from any source. It names the first sequence
 * that breaks. Every event contains the hash of the previous one, so an event that was changed together with its own hash is
 * detected at its successor; a rewrite up to the end is detected only with an anchor.
 */
import { sha256Hex } from '../../base/digest.ts';
import type { Statement } from '../statement.ts';
import { type ChainedEvent, type ChainOwner, chainHash, chainStart } from './chain.ts';

/** A stored or exported event with its chain data. */
export interface ChainRecord {
  readonly event: ChainedEvent;
  readonly hash: string;
  /** Undefined if details are not verified. */
  readonly details: string | null | undefined;
  /** Undefined if the source has no eras. */
  readonly era: number | undefined;
}

/** A statement that the chain must match. */
export interface Anchor {
  readonly statement: Statement;
  /** Stored outside the data dir. */
  readonly external: boolean;
}

export interface RetentionMark {
  readonly statement: Statement;
  /** Sequence of the event that records the mark, and its required digest. */
  readonly auditedBy: number;
  readonly digest: string;
}

type BreakKind =
  | 'edited'
  | 'reordered'
  | 'deleted'
  | 'replaced'
  | 'details'
  | 'time'
  | 'rewritten'
  | 'cut'
  | 'head'
  | 'mark'
  | 'tree';

interface ChainBreak {
  readonly kind: BreakKind;
  /** The first sequence that differs from the record. */
  readonly sequence: number;
  readonly reason: string;
}

export interface ChainReport {
  readonly owner: ChainOwner;
  readonly first: number | null;
  readonly last: number | null;
  readonly events: number;
  readonly details: number;
  readonly broken: ChainBreak | null;
  /** The newest verified sequence covered by a checkpoint of the data dir, and by an external one. */
  readonly coveredLocally: number;
  readonly coveredExternally: number;
  /** The event that acknowledges the break of this part, and starts the next part; null in the last one. */
  readonly acknowledgedBy: number | null;
}

export interface ChainWalk {
  add(record: ChainRecord): void;
  /** `head`: the stored last event; undefined without a store. */
  finish(head: { readonly sequence: number; readonly hash: string } | null | undefined): ChainReport;
}

export interface WalkStart {
  readonly owner: ChainOwner;
  readonly anchors: readonly Anchor[];
  /** The highest valid mark; events at or below it may be missing. */
  readonly mark: RetentionMark | null;
  /** The stored end of the chain. */
  readonly last?: number;
  /** Continue after this event instead of from the beginning. */
  readonly after?: { readonly sequence: number; readonly hash: string };
}

export function walkChain(start: WalkStart): ChainWalk {
  return new WalkedChain(start);
}

class WalkedChain implements ChainWalk {
  readonly #start: WalkStart;
  readonly #owner;
  readonly #mark;
  readonly #anchors;
  readonly #markAt;
  #expected;
  #previous: string | null;
  #time: { occurredAt: string; era: number } | null = null;
  #first: number | null = null;
  #events = 0;
  #details = 0;
  #broken: ChainBreak | null = null;
  #markRecorded = false;
  readonly #covered = { local: 0, external: 0 };

  constructor(start: WalkStart) {
    this.#start = start;
    const { owner, mark } = start;
    this.#owner = owner;
    this.#mark = mark;
    this.#anchors = anchorsBySequence(start.anchors);
    this.#markAt = this.#mark === null ? 0 : Number(this.#mark.statement.sequence);
    this.#expected = start.after === undefined ? 1 : start.after.sequence + 1;
    this.#previous = start.after?.hash ?? chainStart;
  }

  add(record: ChainRecord): void {
    const { event } = record;
    const sequence = Number(event.sequence);
    this.#events++;
    if (this.#broken !== null) return;
    if (this.#first === null) this.#begin(sequence, record);
    if (sequence > this.#expected) {
      const last = sequence - 1;
      this.#fail(
        'deleted',
        this.#expected,
        `${this.#expected === last ? 'it is' : `${this.#expected} to ${last} are`} missing`,
      );
    } else if (sequence < this.#expected) this.#fail('reordered', sequence, `it follows ${this.#expected - 1}`);
    else if (chainHash(this.#owner, event) !== record.hash) {
      const origin = originOf(this.#owner, record, sequence, this.#start.last);
      if (origin === null) this.#fail('edited', sequence, 'it does not have the hash that it was recorded with');
      else this.#fail('reordered', sequence, `the event recorded as ${origin} is in this place`);
    } else if (this.#previous !== null && event.previous !== this.#previous) {
      // Consistent in itself, but with another predecessor: that one was changed together with its hash.
      if (sequence === this.#first) this.#fail('edited', sequence, 'it does not continue where the chain begins');
      else this.#fail('replaced', sequence - 1, `${sequence} was recorded after a different event`);
    }
    if (this.#broken !== null) return;
    this.#details += checkDetails(record, this.#fail, sequence);
    this.#time = checkTime(record, this.#time, this.#fail, sequence);
    if (sequence === this.#mark?.auditedBy && event.action === markAction && event.detailsDigest === this.#mark.digest)
      this.#markRecorded = true;
    this.#checkAnchors(sequence, record.hash);
    this.#expected = sequence + 1;
    this.#previous = record.hash;
  }

  finish(head: { readonly sequence: number; readonly hash: string } | null | undefined): ChainReport {
    const last = this.#expected - 1;
    const reached = Math.max(last, this.#markAt);
    if (head === null && this.#events > 0) this.#fail('head', last, 'the store has no head for this chain');
    if (head !== null && head !== undefined) {
      if (head.sequence > last)
        this.#fail('cut', last + 1, `the store’s head is ${head.sequence}, the events end at ${last}`);
      else if (head.sequence < last || head.hash !== this.#previous)
        this.#fail('head', head.sequence + 1, 'the store’s head is not the last event');
    }
    for (const [sequence, [anchor]] of this.#anchors) {
      if (anchor === undefined || sequence <= reached) continue;
      const where = anchor.external ? 'an anchor' : 'a checkpoint';
      const text = `${where} proves that the log reached ${sequence}: its tail was cut, or an older copy was put back`;
      this.#fail('cut', last + 1, text);
    }
    if (this.#mark !== null && !this.#markRecorded && this.#start.after === undefined)
      this.#fail('mark', this.#markAt, `no event ${this.#mark.auditedBy} records the retention mark`);
    return {
      owner: this.#owner,
      first: this.#first,
      last: this.#first === null ? null : last,
      events: this.#events,
      details: this.#details,
      broken: this.#broken,
      coveredLocally: this.#covered.local,
      coveredExternally: this.#covered.external,
      acknowledgedBy: null,
    };
  }

  readonly #fail = (kind: BreakKind, sequence: number, reason: string): void => {
    this.#broken ??= { kind, sequence, reason };
  };

  /** Possible start of a chain: 1, or after the events that retention removed. */
  #begin(sequence: number, record: ChainRecord): void {
    this.#first = sequence;
    if (this.#start.after !== undefined || sequence === 1) return;
    this.#expected = Math.min(sequence, this.#markAt + 1);
    if (this.#expected < sequence) return;
    // Below the mark there is nothing left to compare with; the mark's own hash decides.
    this.#previous = sequence === this.#markAt + 1 ? (this.#mark?.statement.hash ?? null) : record.event.previous;
  }

  #checkAnchors(sequence: number, hash: string): void {
    for (const anchor of this.#anchors.get(sequence) ?? []) {
      const side = anchor.external ? 'external' : 'local';
      if (anchor.statement.hash === hash) this.#covered[side] = sequence;
      else {
        const from =
          Math.max(
            this.#covered.local,
            this.#covered.external,
            this.#markAt,
            this.#first === null ? 0 : this.#first - 1,
          ) + 1;
        const where = anchor.external ? 'an anchor' : 'a checkpoint';
        this.#fail(
          'rewritten',
          from,
          `${where} of sequence ${sequence} has another hash: something from ${from} to ${sequence} was rewritten`,
        );
      }
    }
    if (this.#mark !== null && sequence === this.#markAt && hash !== this.#mark.statement.hash)
      this.#fail('mark', sequence, 'the retention mark has another hash than its event');
  }
}

/** The action by which a person acknowledges that the chain before is broken [audit §9.7]. */
export const acknowledgeAction = 'audit.chain.acknowledge-break';

/** The action that records a mark. */
export const markAction = 'audit.retention.mark';

/** How far beyond its place a moved event is searched for; further ones are reported as edited. */
const reorderSearch = 100_000;

type Fail = (kind: BreakKind, sequence: number, reason: string) => void;

function anchorsBySequence(anchors: readonly Anchor[]): ReadonlyMap<number, Anchor[]> {
  const bySequence = new Map<number, Anchor[]>();
  for (const anchor of anchors) {
    const sequence = Number(anchor.statement.sequence);
    bySequence.set(sequence, [...(bySequence.get(sequence) ?? []), anchor]);
  }
  return new Map([...bySequence].toSorted(([a], [b]) => a - b));
}

/** The original sequence of the event, if it was only moved. */
function originOf(owner: ChainOwner, record: ChainRecord, at: number, last: number | undefined): number | null {
  const from = Math.max(1, at - reorderSearch);
  const through = Math.min(at + reorderSearch, last ?? Number.POSITIVE_INFINITY);
  for (let sequence = from; sequence <= through; sequence++) {
    if (chainHash(owner, { ...record.event, sequence: String(sequence) }) === record.hash) return sequence;
  }
  return null;
}

/** Number of compared details: one or none. */
function checkDetails(record: ChainRecord, fail: Fail, sequence: number): number {
  const { details } = record;
  if (details === undefined) return 0;
  const digest = record.event.detailsDigest;
  if (details === null) {
    if (digest !== null) fail('details', sequence, 'its details are missing');
    return 0;
  }
  if (digest === null) fail('details', sequence, 'it has details that were not recorded with it');
  else if (sha256Hex(details) !== digest) fail('details', sequence, 'its details are not those recorded with it');
  return 1;
}

/** Eras control the search by time, so they must match the times. */
function checkTime(
  record: ChainRecord,
  before: { occurredAt: string; era: number } | null,
  fail: Fail,
  sequence: number,
): { occurredAt: string; era: number } | null {
  const { era } = record;
  if (era === undefined) return null;
  const { occurredAt } = record.event;
  if (before !== null && era !== before.era + (occurredAt < before.occurredAt ? 1 : 0))
    fail('time', sequence, 'its place in time was changed');
  return { occurredAt, era };
}
