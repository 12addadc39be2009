/**
 * Signs checkpoints while the service runs [audit §7], [audit §9]: after a number of events, after some time, at the start and at a clean
 * shutdown. Before it signs, it verifies the events since the last checkpoint, and that the new tree extends the last signed one,
 * so that it never signs a chain that was tampered with.
 */
import { type Clock, sleep, type Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Database } from '../storage/database.ts';
import { formatNote } from '../transparency/signed-note.ts';
import type { Breaks } from './breaks.ts';
import { CheckpointFile, type SignedHead } from './checkpoint-file.ts';
import type { RootAnchor } from './evidence.ts';
import type { AuditLimits } from './limits.ts';
import { type AuditKey, keyName, signStatement } from './statement.ts';
import { type ChainOwner, chainedEventOf, nameOf } from './store/chain.ts';
import { type ChainRecord, walkChain } from './store/chain-walk.ts';
import type { AuditChainRow, AuditEventTable } from './store/tables.ts';
import type { GrownTree, LogTrees } from './tree/log-trees.ts';
import type { StoredTree } from './tree/tree-store.ts';
import type { Witnesses } from './witness/witnesses.ts';

export interface CheckpointerParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<AuditLimits, 'checkpoint_events' | 'checkpoint_interval_ms' | 'checkpoint_max_age_ms'>;
  readonly key: AuditKey;
  readonly trees: LogTrees;
  readonly witnesses: Pick<Witnesses, 'signed' | 'any'>;
  readonly breaks: Breaks;
  /** The checkpoint file. */
  readonly file: string;
}

interface Wrong {
  readonly sequence: number;
  readonly reason: string;
}

/** The last checkpoint of a chain, and its time. */
interface Last extends Omit<SignedHead, 'issuedAt'> {
  readonly atMs: number;
}

const eventsPerRead = 1000;
/** Hashes cached until the tree has them; with more events they are read again. */
const hashesMax = 10 * eventsPerRead;
/** Interval of checks while a chain is broken. */
const brokenRetryMs = 5000;
/** Minimum interval between checkpoints requested by readers. */
const coverEveryMs = 1000;

export class Checkpointer {
  readonly #parts: CheckpointerParts;
  readonly #file: CheckpointFile;
  readonly #last = new Map<string, Last>();
  #since = 0;
  #running: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  /** When the next check is due, by the monotonic clock. */
  #dueMs = 0;
  #closed = false;

  constructor(parts: CheckpointerParts) {
    this.#parts = parts;
    this.#file = new CheckpointFile(parts.file, keyName(parts.key.publicKey));
  }

  /** Called by the logs after each commit. */
  appended(events: number): void {
    this.#since += events;
    if (this.#since >= this.#parts.limits.checkpoint_events && !this.#closed) {
      this.#since = 0;
      this.#parts.clock.soon(() => void this.#run());
    }
  }

  /** Reads the file and starts to sign what no checkpoint covers yet; for the start. */
  open(): void {
    const { clock, log } = this.#parts;
    const torn = this.#file.repair();
    if (torn !== null) log.warn('removed an incomplete last line from the checkpoint file', { line: torn });
    for (const [name, { issuedAt, ...head }] of this.#file.lastHeads()) {
      const ageMs = Math.max(0, clock.wallMs() - Date.parse(issuedAt));
      this.#last.set(name, { ...head, atMs: clock.monotonicMs() - ageMs });
    }
    // Not awaited: without any checkpoint this reads the whole chain. Witnesses receive the heads again at once, because an older copy of
    // the data dir may have been restored.
    void this.#run(this.#parts.witnesses.any ? Number.POSITIVE_INFINITY : 0);
    this.#dueMs = clock.monotonicMs() + this.#waitMs();
    this.#wait();
  }

  /** Signs uncovered events now; returns the last checkpoint of a chain, or null if it has none. */
  async cover(owner: ChainOwner): Promise<{ readonly sequence: number; readonly hash: string } | null> {
    await this.#run();
    return this.#last.get(nameOf(owner)) ?? null;
  }

  /** As `cover`, at most once a second, for requests by readers. */
  async coverSoon(owner: ChainOwner): Promise<void> {
    const { clock } = this.#parts;
    const last = this.#last.get(nameOf(owner));
    if (last !== undefined) await sleep(clock, Math.max(0, last.atMs + coverEveryMs - clock.monotonicMs()));
    await this.#run();
  }

  /** Size of the last signed tree; null before the first one. */
  signedSize(owner: ChainOwner): number | null {
    return this.#last.get(nameOf(owner))?.tree?.size ?? null;
  }

  /** The last signed heads with a tree. */
  heads(): readonly RootAnchor[] {
    return [...this.#last.values()].flatMap(({ tree }) => (tree === null ? [] : [{ ...tree, external: false }]));
  }

  /** The last checkpoints of a clean shutdown. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#run();
  }

  /** `untilNextMs`: until the next check, if a checkpoint must not become too old. */
  readonly #signAll = async (untilNextMs: number): Promise<void> => {
    this.#since = 0;
    const chains = await this.#parts.database.query.selectFrom('audit_chain').selectAll().orderBy('chain_id').execute();
    for (const chain of chains) if (chain.sequence > 0) await this.#signChain(chain, untilNextMs);
  };

  async #signChain(chain: AuditChainRow, untilNextMs: number): Promise<void> {
    const { clock, log, limits, trees, breaks } = this.#parts;
    const owner = ownerOf(chain);
    const name = nameOf(owner);
    const { tree, earlier } = await trees.of(chain);
    breaks.acknowledged(earlier.map(({ origin }) => origin));
    // A break that others found is not signed: a person must acknowledge it first.
    if (breaks.foundElsewhere(tree.origin) !== null) return;
    const last = this.#lastOf(name, tree);
    const isNew = last === undefined || last.sequence !== chain.sequence || last.hash !== chain.hash;
    const isDue = last !== undefined && clock.monotonicMs() - last.atMs + untilNextMs > limits.checkpoint_max_age_ms;
    if (!isNew && !isDue) return;
    const since = isNew ? await eventsSince(this.#parts, chain, tree, last) : null;
    const grown = since?.broken ?? (await this.#extended(chain, tree, last, since?.hashes ?? null));
    if ('reason' in grown) {
      breaks.found('checkpoint', { origin: tree.origin, ...grown });
      log.error('audit chain broken: no checkpoints until this is resolved', { ...owner, ...grown });
      return;
    }
    breaks.nothing('checkpoint', tree.origin);
    await this.#sign(chain, grown);
  }

  /** Earlier segments do not count: their breaks were acknowledged. */
  #lastOf(name: string, tree: StoredTree): Last | undefined {
    const last = this.#last.get(name);
    const isOfTree = last?.tree?.origin === tree.origin || (last?.tree === null && tree.segment === 1);
    return isOfTree ? last : undefined;
  }

  /** The tree up to the chain's end; or why it does not extend the last signed one. */
  async #extended(
    chain: AuditChainRow,
    tree: StoredTree,
    last: Last | undefined,
    hashes: readonly string[] | null,
  ): Promise<GrownTree | Wrong> {
    const before = last?.tree ?? null;
    const grown = await this.#parts.trees.extended(tree, chain.sequence, before, hashes);
    const reason = `the tree of its first ${before?.size} events has another root than the last checkpoint`;
    return grown ?? { sequence: tree.first, reason };
  }

  async #sign(chain: AuditChainRow, grown: GrownTree): Promise<void> {
    const { clock, log, key, trees, witnesses } = this.#parts;
    const owner = ownerOf(chain);
    const note = await trees.sign(grown);
    const issuedAt = new Date(clock.wallMs()).toISOString();
    const statement = signStatement(key, owner, { ...chain, issuedAt }, formatNote(note));
    this.#file.append(statement);
    const { size, root, tree } = grown;
    this.#last.set(nameOf(owner), {
      sequence: chain.sequence,
      hash: chain.hash,
      tree: { origin: tree.origin, size, root },
      atMs: clock.monotonicMs(),
    });
    log.info('audit checkpoint', { checkpoint: statement });
    await witnesses.signed({ note, ...grown });
  }

  #run(untilNextMs = 0): Promise<void> {
    this.#running = this.#running
      .then(() => this.#signAll(untilNextMs))
      .catch((error: unknown) => {
        this.#parts.log.error('cannot write an audit checkpoint', { err: error });
      });
    return this.#running;
  }

  /** Next check: when new events or the age of the last checkpoint require it; sooner while a chain is broken. */
  #wait(): void {
    const { clock, breaks } = this.#parts;
    const untilDueMs = this.#dueMs - clock.monotonicMs();
    this.#timer = clock.after(Math.min(untilDueMs, brokenRetryMs), () => {
      const isDue = clock.monotonicMs() >= this.#dueMs;
      if (isDue) this.#dueMs = clock.monotonicMs() + this.#waitMs();
      // An acknowledged or repaired break is noticed soon, whoever found it and however long the next checkpoint takes.
      if (isDue || breaks.list().length > 0) void this.#run(isDue ? this.#waitMs() : 0);
      this.#wait();
    });
  }

  #waitMs(): number {
    const { limits } = this.#parts;
    return Math.min(limits.checkpoint_interval_ms, limits.checkpoint_max_age_ms);
  }
}

export function ownerOf(chain: Pick<AuditChainRow, 'log' | 'tenant_id' | 'project_id'>): ChainOwner {
  return { log: chain.log, tenantId: chain.tenant_id, projectId: chain.project_id };
}

/** Problems of the events after the last checkpoint, up to the head; and their hashes, if there are few. */
async function eventsSince(
  { database, clock }: Pick<CheckpointerParts, 'database' | 'clock'>,
  chain: AuditChainRow,
  tree: StoredTree,
  last: Last | undefined,
): Promise<{ readonly broken: Wrong | null; readonly hashes: readonly string[] | null }> {
  if (last !== undefined && last.sequence >= chain.sequence) {
    const reason = `it ends at ${chain.sequence}, its last checkpoint is of ${last.sequence}`;
    return { broken: { sequence: chain.sequence + 1, reason }, hashes: null };
  }
  const hashes: string[] = [];
  const after = last ?? (await oldest(database, tree));
  const walk = walkChain({ owner: ownerOf(chain), anchors: [], mark: null, after, last: chain.sequence });
  for (let from = after.sequence; from < chain.sequence; from += eventsPerRead) {
    const rows = await database.query
      .selectFrom('audit_event')
      .selectAll()
      .where('chain_id', '=', chain.chain_id)
      .where('sequence', '>', from)
      .where('sequence', '<=', Math.min(from + eventsPerRead, chain.sequence))
      .orderBy('sequence')
      .execute();
    for (const row of rows) walk.add(recordOf(row));
    if (chain.sequence - after.sequence <= hashesMax) hashes.push(...rows.map(({ hash }) => hash));
    await new Promise<void>((resolve) => clock.soon(resolve));
  }
  return { broken: walk.finish(chain).broken, hashes };
}

/** Start of the stored events of the tree: after those that retention removed. */
async function oldest(database: Database, { chainId, first }: StoredTree): Promise<{ sequence: number; hash: string }> {
  const row = await database.query
    .selectFrom('audit_event')
    .select(['sequence', 'previous_hash'])
    .where('chain_id', '=', chainId)
    .where('sequence', '>=', first)
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst();
  return { sequence: (row?.sequence ?? 1) - 1, hash: row?.previous_hash ?? '' };
}

function recordOf(row: AuditEventTable): ChainRecord {
  return {
    event: chainedEventOf(row),
    hash: row.hash,
    details: undefined,
    era: row.era,
  };
}
