/**
 * Verification of one chain [audit §6], event by event, wherever they come from. It names the first sequence
 * that breaks. Every event holds the hash of the one before, so an event that was changed together with its own hash is
 * betrayed by its successor; whatever was rewritten up to the end is betrayed by an anchor only.
 */
import { sha256Hex } from '../base/digest.ts';
import { type ChainedEvent, type ChainOwner, chainHash, chainStart } from '../storage/audit-chain.ts';
import type { Statement } from './statement.ts';

/** An event as it is stored or exported, with what the chain says about it. */
export interface ChainRecord {
  readonly event: ChainedEvent;
  readonly hash: string;
  /** Undefined when details are not looked at. */
  readonly details: string | null | undefined;
  /** Undefined where eras are not kept. */
  readonly era: number | undefined;
}

/** A statement that the chain has to agree with. */
export interface Anchor {
  readonly statement: Statement;
  /** Kept outside the data dir. */
  readonly external: boolean;
}

export interface RetentionMark {
  readonly statement: Statement;
  /** Sequence of the event that records the mark, and the digest that it must have. */
  readonly auditedBy: number;
  readonly digest: string;
}

export type BreakKind =
  | 'edited'
  | 'reordered'
  | 'deleted'
  | 'replaced'
  | 'details'
  | 'time'
  | 'rewritten'
  | 'cut'
  | 'head'
  | 'mark';

export interface ChainBreak {
  readonly kind: BreakKind;
  /** The first sequence that is not as it was recorded. */
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
  /** The newest verified sequence that a checkpoint of the data dir, and one kept elsewhere, vouches for. */
  readonly coveredLocally: number;
  readonly coveredExternally: number;
}

export interface ChainWalk {
  add(record: ChainRecord): void;
  /** `head`: what the store holds as the last event; undefined when there is no store to ask. */
  finish(head: { readonly sequence: number; readonly hash: string } | null | undefined): ChainReport;
}

export interface WalkStart {
  readonly owner: ChainOwner;
  readonly anchors: readonly Anchor[];
  /** The highest valid mark; what lies at or below it may be missing. */
  readonly mark: RetentionMark | null;
  /** Where the store says that the chain ends. */
  readonly last?: number;
  /** Continue behind this event instead of from the beginning. */
  readonly after?: { readonly sequence: number; readonly hash: string };
}

export function walkChain(start: WalkStart): ChainWalk {
  const { owner, mark } = start;
  const anchors = anchorsBySequence(start.anchors);
  const markAt = mark === null ? 0 : Number(mark.statement.sequence);
  let expected = start.after === undefined ? 1 : start.after.sequence + 1;
  let previous: string | null = start.after?.hash ?? chainStart;
  let time: { occurredAt: string; era: number } | null = null;
  let first: number | null = null;
  let events = 0;
  let details = 0;
  let broken: ChainBreak | null = null;
  let markRecorded = false;
  const covered = { local: 0, external: 0 };

  const fail = (kind: BreakKind, sequence: number, reason: string): void => {
    broken ??= { kind, sequence, reason };
  };

  /** Where a chain may begin: at 1, or where retention has left off. */
  const begin = (sequence: number, record: ChainRecord): void => {
    first = sequence;
    if (start.after !== undefined || sequence === 1) return;
    expected = Math.min(sequence, markAt + 1);
    if (expected < sequence) return;
    // Below the mark there is nothing left to compare with; the mark's own hash settles it.
    previous = sequence === markAt + 1 ? (mark?.statement.hash ?? null) : record.event.previous;
  };

  const checkAnchors = (sequence: number, hash: string): void => {
    for (const anchor of anchors.get(sequence) ?? []) {
      const side = anchor.external ? 'external' : 'local';
      if (anchor.statement.hash === hash) covered[side] = sequence;
      else {
        const from = Math.max(covered.local, covered.external, markAt, first === null ? 0 : first - 1) + 1;
        const where = anchor.external ? 'an anchor' : 'a checkpoint';
        fail(
          'rewritten',
          from,
          `${where} of sequence ${sequence} has another hash: something from ${from} to ${sequence} was rewritten`,
        );
      }
    }
    if (mark !== null && sequence === markAt && hash !== mark.statement.hash)
      fail('mark', sequence, 'the retention mark has another hash than its event');
  };

  return {
    add(record) {
      const { event } = record;
      const sequence = Number(event.sequence);
      events++;
      if (broken !== null) return;
      if (first === null) begin(sequence, record);
      if (sequence > expected) {
        const last = sequence - 1;
        fail('deleted', expected, `${expected === last ? 'it is' : `${expected} to ${last} are`} missing`);
      } else if (sequence < expected) fail('reordered', sequence, `it stands behind ${expected - 1}`);
      else if (chainHash(owner, event) !== record.hash) {
        const origin = originOf(owner, record, sequence, start.last);
        if (origin === null) fail('edited', sequence, 'it does not have the hash that it was recorded with');
        else fail('reordered', sequence, `the event recorded as ${origin} stands here`);
      } else if (previous !== null && event.previous !== previous) {
        // Consistent in itself, but with another predecessor: that one was changed together with its hash.
        if (sequence === first) fail('edited', sequence, 'it does not continue where the chain begins');
        else fail('replaced', sequence - 1, `${sequence} was recorded behind another event than this one`);
      }
      if (broken !== null) return;
      details += checkDetails(record, fail, sequence);
      time = checkTime(record, time, fail, sequence);
      if (sequence === mark?.auditedBy && event.action === markAction && event.detailsDigest === mark.digest)
        markRecorded = true;
      checkAnchors(sequence, record.hash);
      expected = sequence + 1;
      previous = record.hash;
    },

    finish(head) {
      const last = expected - 1;
      const reached = Math.max(last, markAt);
      if (head === null && events > 0) fail('head', last, 'the store has no head for this chain');
      if (head !== null && head !== undefined) {
        if (head.sequence > last)
          fail('cut', last + 1, `the store’s head is ${head.sequence}, the events end at ${last}`);
        else if (head.sequence < last || head.hash !== previous)
          fail('head', head.sequence + 1, 'the store’s head is not the last event');
      }
      for (const [sequence, [anchor]] of anchors) {
        if (anchor === undefined || sequence <= reached) continue;
        const where = anchor.external ? 'an anchor' : 'a checkpoint';
        const text = `${where} proves that the log reached ${sequence}: its tail was cut, or an older copy was put back`;
        fail('cut', last + 1, text);
      }
      if (mark !== null && !markRecorded && start.after === undefined)
        fail('mark', markAt, `no event ${mark.auditedBy} records the retention mark`);
      return {
        owner,
        first,
        last: first === null ? null : last,
        events,
        details,
        broken,
        coveredLocally: covered.local,
        coveredExternally: covered.external,
      };
    },
  };
}

/** The action under which a mark is recorded. */
export const markAction = 'audit.retention.mark';

/** How far beyond its place an event is looked for that was moved; further ones are reported as edited. */
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

/** The sequence that the event was recorded with, when it was only moved. */
function originOf(owner: ChainOwner, record: ChainRecord, at: number, last: number | undefined): number | null {
  const from = Math.max(1, at - reorderSearch);
  const through = Math.min(at + reorderSearch, last ?? Number.POSITIVE_INFINITY);
  for (let sequence = from; sequence <= through; sequence++) {
    if (chainHash(owner, { ...record.event, sequence: String(sequence) }) === record.hash) return sequence;
  }
  return null;
}

/** How many details were compared: one or none. */
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

/** Eras steer the search by time, so they must be what the times say. */
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
