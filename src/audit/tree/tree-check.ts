/**
 * Verification of a tree [audit §9.1]: its leaves are the hashes of the events, and every signed head is a prefix of it.
 * For events that retention removed, the stored hashes are used.
 */
import { sameBytes } from '../../transparency/base64.ts';
import { GrowingTree, leafHash, rootOver } from './tree-hash.ts';
import { tileWidth } from './tree-proofs.ts';

/** A signed root for a number of entries. */
export interface SignedRoot {
  readonly size: number;
  readonly root: Uint8Array;
  /** Stored outside the data dir. */
  readonly external: boolean;
}

/** Leaf hashes in a row, from an index on. */
export interface KeptLeaves {
  readonly from: number;
  readonly hashes: readonly Uint8Array[];
}

export interface TreeWrong {
  readonly sequence: number;
  readonly reason: string;
}

export class TreeCheck {
  readonly #first: number;
  readonly #roots: ReadonlyMap<number, readonly SignedRoot[]>;
  readonly #kept: KeptLeaves[] = [];
  readonly #grown = new GrowingTree();
  /** Leaves of the tile that is being filled. */
  #filling: Uint8Array[] = [];
  #wrong: TreeWrong | null = null;
  readonly tileRoots: Uint8Array[] = [];
  readonly covered = { local: 0, external: 0 };

  constructor(first: number, roots: readonly SignedRoot[]) {
    this.#first = first;
    this.#roots = Map.groupBy(roots, ({ size }) => size);
  }

  /** In ascending order. */
  keep(leaves: KeptLeaves): void {
    this.#kept.push(leaves);
  }

  /** The next existing event; missing ones before it are replaced by their stored hashes. */
  add(sequence: number, eventHash: string): void {
    if (this.#wrong !== null || sequence < this.#first) return;
    const index = sequence - this.#first;
    while (this.#grown.size < index) {
      const kept = this.#keptAt(this.#grown.size);
      if (kept === null) return this.#fail(this.#grown.size, 'its hash in the tree is missing');
      this.#grow(kept);
    }
    const leaf = leafHash(eventHash);
    const kept = this.#keptAt(index);
    if (kept !== null && !sameBytes(kept, leaf)) return this.#fail(index, 'the tree holds another hash of it');
    this.#grow(leaf);
  }

  /** After the last event: the heads beyond the end of the log. */
  finish(): TreeWrong | null {
    for (const [size, [root]] of [...this.#roots].toSorted(([a], [b]) => a - b)) {
      if (size <= this.#grown.size || root === undefined) continue;
      const where = root.external ? 'an anchor' : 'a checkpoint';
      this.#fail(this.#grown.size, `${where} proves that the log had ${size} entries, it has ${this.#grown.size}`);
    }
    return this.#wrong;
  }

  #grow(leaf: Uint8Array): void {
    this.#grown.add(leaf);
    this.#filling.push(leaf);
    if (this.#filling.length === tileWidth) {
      this.tileRoots.push(rootOver(this.#filling));
      this.#filling = [];
    }
    for (const signed of this.#roots.get(this.#grown.size) ?? []) this.#compare(signed);
  }

  #compare({ size, root, external }: SignedRoot): void {
    const through = this.#first + size - 1;
    if (sameBytes(root, this.#grown.root())) {
      this.covered[external ? 'external' : 'local'] = through;
      return;
    }
    // Whoever can rewrite the log can sign checkpoints of it: against an anchor only anchors count.
    const local = external ? 0 : this.covered.local;
    const from = Math.max(local, this.covered.external, this.#first - 1) + 1;
    const where = external ? 'an anchor' : 'a checkpoint';
    const reason = `${where} of ${size} entries has another root: something from ${from} to ${through} was rewritten`;
    this.#wrong ??= { sequence: from, reason };
  }

  #keptAt(index: number): Uint8Array | null {
    let [leaves] = this.#kept;
    while (leaves !== undefined && leaves.from + leaves.hashes.length <= index) {
      this.#kept.shift();
      [leaves] = this.#kept;
    }
    return leaves === undefined || leaves.from > index ? null : (leaves.hashes[index - leaves.from] ?? null);
  }

  #fail(index: number, reason: string): void {
    this.#wrong ??= { sequence: this.#first + index, reason };
  }
}
