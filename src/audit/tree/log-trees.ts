/**
 * The tree of each log with its name and its signer [audit §9]. A log's name (origin) is fixed when its tree starts: holders of
 * its checkpoints identify the log by it.
 */
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../storage/database.ts';
import { sameBytes } from '../../transparency/base64.ts';
import { checkpointText, isOrigin } from '../../transparency/checkpoint.ts';
import type { SignedNote } from '../../transparency/signed-note.ts';
import { type NoteSigner, noteSigner } from '../../transparency/signing.ts';
import type { AuditKey } from '../statement.ts';
import type { ChainOwner } from '../store/chain.ts';
import type { AuditChainRow } from '../store/tables.ts';
import { TreeFront } from './tree-front.ts';
import { TreeProofs } from './tree-proofs.ts';
import { beginTree, readTiles, type StoredTree, storeTree, treesOf } from './tree-store.ts';

/** A tree up to the end of its chain. */
export interface GrownTree {
  readonly tree: StoredTree;
  readonly size: number;
  readonly root: Uint8Array;
  readonly proofs: TreeProofs;
}

/** The signed state of a tree. */
type SignedTree = Pick<GrownTree, 'size' | 'root'>;

export class LogTrees {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #key: AuditKey;
  /** The prefix of new logs' names. */
  readonly #origin: string;
  readonly #signers = new Map<string, Promise<NoteSigner>>();
  /** By origin, the last signed state. */
  readonly #fronts = new Map<string, TreeFront>();

  constructor(parts: { database: Database; clock: Clock; key: AuditKey; origin: string }) {
    this.#database = parts.database;
    this.#clock = parts.clock;
    this.#key = parts.key;
    this.#origin = parts.origin;
  }

  /** The current tree, started if the chain has none; and the previous ones, whose breaks were acknowledged. */
  async of(chain: AuditChainRow): Promise<{ readonly tree: StoredTree; readonly earlier: readonly StoredTree[] }> {
    const known = await treesOf(this.#database.query, chain.chain_id);
    return { tree: known.at(-1) ?? (await this.#begin(chain)), earlier: known.slice(0, -1) };
  }

  /**
   * The tree up to this sequence, its full tiles stored; null if it does not extend the signed tree `before`.
   * `hashes`: of the events since then, if the caller has just verified them all; without them more of the stored tree is read.
   */
  async extended(
    tree: StoredTree,
    sequence: number,
    before: SignedTree | null,
    hashes: readonly string[] | null,
  ): Promise<GrownTree | null> {
    const { proofs, size } = this.proofs(tree, sequence - tree.first + 1);
    const front = this.#fronts.get(tree.origin);
    // Restored unless all goes well.
    this.#fronts.delete(tree.origin);
    const read = readTiles(this.#database.query, tree);
    if (hashes !== null && front !== undefined && isAt(front, before) && front.size + hashes.length === size) {
      if (!(await front.isIn(read))) return null;
      await storeTree(this.#database, this.#clock, tree, sequence, front.add(hashes));
      this.#fronts.set(tree.origin, front);
      return { tree, size, root: front.root, proofs };
    }
    await storeTree(this.#database, this.#clock, tree, sequence);
    if (before !== null && !sameBytes(await proofs.rootAt(before.size), before.root)) return null;
    const made = await TreeFront.of(read, size);
    this.#fronts.set(tree.origin, made);
    return { tree, size, root: made.root, proofs };
  }

  /** Of the first `size` entries, all of which are stored. */
  proofs(tree: StoredTree, size: number): { readonly proofs: TreeProofs; readonly size: number } {
    return { size, proofs: new TreeProofs(readTiles(this.#database.query, tree), size) };
  }

  async sign({ tree, size, root }: Omit<GrownTree, 'proofs'>): Promise<SignedNote> {
    return (await this.signer(tree.origin)).sign(checkpointText({ origin: tree.origin, size, root }));
  }

  signer(origin: string): Promise<NoteSigner> {
    const known = this.#signers.get(origin) ?? noteSigner(origin, this.#key);
    this.#signers.set(origin, known);
    return known;
  }

  #begin(chain: AuditChainRow): Promise<StoredTree> {
    return this.#database.transaction(async (transaction) => {
      const [known] = await treesOf(transaction, chain.chain_id);
      if (known !== undefined) return known;
      const oldest = await transaction
        .selectFrom('audit_event')
        .select('sequence')
        .where('chain_id', '=', chain.chain_id)
        .orderBy('sequence')
        .limit(1)
        .executeTakeFirst();
      const owner = { log: chain.log, tenantId: chain.tenant_id, projectId: chain.project_id };
      const tree = {
        chainId: chain.chain_id,
        segment: 1,
        origin: originOf(this.#origin, owner),
        first: oldest?.sequence ?? 1,
      };
      await beginTree(transaction, tree);
      return tree;
    });
  }
}

function isAt(front: TreeFront, signed: SignedTree | null): boolean {
  return signed !== null && front.size === signed.size && sameBytes(front.root, signed.root);
}

/** `<prefix>/<tenant>/<project>/<log>`, percent-encoded where necessary. */
export function originOf(prefix: string, { log, tenantId, projectId }: ChainOwner): string {
  const origin = [prefix, ...[tenantId, projectId, log].map(encodeURIComponent)].join('/');
  if (!isOrigin(origin)) throw new Error(`the name of the audit log, ${origin}, is longer than 255 bytes`);
  return origin;
}
