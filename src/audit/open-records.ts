/**
 * Accepted records that a crash left open are closed as `unknown` [platform §3]. The log is read in windows, each in a transaction
 * of its own, from the place before which all records were closed: a start reads the events since the last check, whatever the
 * length of the log.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type Repeated, repeatedly } from '../base/repeatedly.ts';
import { dayMs } from '../base/timestamp.ts';
import { nextTurn } from '../base/turns.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { AuditEntry, AuditScope } from './event.ts';
import { appendToChain, type ChainHead, chainHead, prepareEntry } from './store/chain-store.ts';
import type { AuditEventTable } from './store/tables.ts';

interface Place {
  readonly database: Database;
  readonly clock: Clock;
  readonly scope: AuditScope;
  /** Called after each commit with its number of events. */
  readonly onAppended?: (events: number) => void;
}

interface OpenRecordsParts extends Place {
  readonly log: Log;
  /** For this time, accepted records are left to other processes that write to this log. Null without other processes. */
  readonly sharedForMs: number | null;
}

const intervalMs = 120_000;
const eventsPerTurn = 5000;
/** Nothing is closed: this process accepted the record. */
const neverMs = Number.POSITIVE_INFINITY;
/** A time further ahead is that of a wrong clock, and nobody works until then. */
const aheadMaxMs = dayMs;

/** The checks of one process: at its start, and while it runs. */
export class OpenRecords {
  readonly #parts: OpenRecordsParts;
  #looks: Repeated | undefined;
  #running: Promise<void> = Promise.resolve();
  readonly #closed = new AbortController();

  constructor(parts: OpenRecordsParts) {
    this.#parts = parts;
  }

  /** Before this process accepts anything: without other processes, all open records were left by a crash. */
  async open(): Promise<void> {
    const { clock, sharedForMs, log } = this.#parts;
    await this.#look(sharedForMs ?? 0);
    const everyMs = Math.min(sharedForMs ?? intervalMs, intervalMs);
    this.#looks = repeatedly(
      clock,
      everyMs,
      log,
      () => {
        this.#running = this.#look(sharedForMs ?? neverMs);
        return this.#running;
      },
      'cannot close unfinished audit records',
    );
  }

  async close(): Promise<void> {
    this.#looks?.cancel();
    this.#closed.abort();
    await this.#running.catch(() => undefined);
  }

  async #look(olderThanMs: number): Promise<void> {
    const closed = await closeOpenRecords(this.#parts, olderThanMs, this.#closed.signal);
    if (closed > 0)
      this.#parts.log.warn('audit records left open by a crash were closed as unknown', { records: closed });
  }
}

/**
 * Closes as `unknown` the records accepted at least `olderThanMs` ago without a conclusion; returns their number. A younger record
 * may still be in progress in another process, and one of an act in progress (`InProgress`) is: it stays open, and the next pass
 * begins there. Once the process of such an act no longer renews it, its records are closed whatever their age.
 */
export async function closeOpenRecords(place: Place, olderThanMs = 0, signal?: AbortSignal): Promise<number> {
  const { database, clock, scope, onAppended } = place;
  const owner = { log: 'events', ...scope } as const;
  const last = (await chainHead(database.query, owner))?.sequence ?? 0;
  let closed = 0;
  for (;;) {
    const turn = await database.transaction(async (transaction) => {
      const head = await chainHead(transaction, owner);
      return head === null ? nothing : closeWindow(transaction, { head, last, scope, clock, olderThanMs });
    });
    if (turn.closed > 0) onAppended?.(turn.closed);
    closed += turn.closed;
    if (turn.isDone || signal?.aborted === true) return closed;
    await nextTurn(clock);
  }
}

const nothing = { closed: 0, isDone: true };

interface Window {
  readonly head: ChainHead;
  /** Later events are not read. */
  readonly last: number;
  readonly scope: AuditScope;
  readonly clock: Clock;
  readonly olderThanMs: number;
}

async function closeWindow(transaction: Transaction, window: Window): Promise<typeof nothing> {
  const { head, last, scope, clock, olderThanMs } = window;
  const through = Math.min(last, head.closedThrough + eventsPerTurn);
  if (through <= head.closedThrough) return nothing;
  const open = await openBetween(transaction, head, through);
  const nowMs = clock.wallMs();
  // Records after an open one are not always younger (the clock may have been set back), and some acts take long.
  const mayGoOn = ({ occurred_at: at, until_ms: untilMs }: OpenRecord): boolean => {
    if (untilMs !== null) return untilMs > nowMs && untilMs <= nowMs + aheadMaxMs;
    if (olderThanMs === neverMs) return true;
    const atMs = Date.parse(at);
    return olderThanMs > 0 && atMs > nowMs - olderThanMs && atMs <= nowMs + aheadMaxMs;
  };
  const left = open.filter((row) => !mayGoOn(row));
  if (left.length > 0) await appendToChain(transaction, 'events', scope, left.map(unknownOf).map(prepareEntry), nowMs);
  const first = open.find(mayGoOn);
  const isDone = first !== undefined || through === last;
  // Last, because the records of an act may be in several windows.
  if (isDone && first === undefined)
    await transaction.deleteFrom('audit_in_progress').where('until_ms', '<=', nowMs).execute();
  const closedThrough = first === undefined ? through : first.sequence - 1;
  if (closedThrough > head.closedThrough)
    await transaction
      .updateTable('audit_chain')
      .set({ closed_through: closedThrough })
      .where('chain_id', '=', head.chainId)
      .execute();
  return { closed: left.length, isDone };
}

/** `until_ms` is that of its act in progress; null for any other. */
type OpenRecord = AuditEventTable & { readonly until_ms: number | null };

function openBetween(transaction: Transaction, head: ChainHead, through: number): Promise<OpenRecord[]> {
  return transaction
    .selectFrom('audit_event as accepted')
    .leftJoin('audit_event as closing', 'closing.accepted_event_id', 'accepted.event_id')
    .leftJoin('audit_in_progress as act', 'act.correlation_id', 'accepted.correlation_id')
    .selectAll('accepted')
    .select('act.until_ms')
    .where('accepted.chain_id', '=', head.chainId)
    .where('accepted.sequence', '>', head.closedThrough)
    .where('accepted.sequence', '<=', through)
    .where('accepted.outcome', '=', 'accepted')
    .where('closing.event_id', 'is', null)
    .orderBy('accepted.sequence')
    .execute();
}

function unknownOf(row: AuditEventTable): AuditEntry {
  return {
    subject: { kind: row.subject_kind as AuditEntry['subject']['kind'], subjectId: row.subject_id },
    action: row.action,
    resource: { kind: row.resource_kind, resourceId: row.resource_id },
    outcome: 'unknown',
    risk: row.risk as AuditEntry['risk'],
    confirmation: row.confirmation as AuditEntry['confirmation'],
    correlationId: row.correlation_id,
    ...(row.trace_id === null ? {} : { traceId: row.trace_id }),
    acceptedEventId: row.event_id,
  };
}
