/** The hashes of the audit tree, computed synchronously: RFC 6962 with SHA-256 over the chain hashes of the events. */
import { hash } from 'node:crypto';
import { hashBytes, leafInput, nodeInput } from '../../transparency/hashing.ts';

/** In Node, digest to text and text to bytes takes a third of the time of digest to bytes. */
function sha256(data: Uint8Array): Uint8Array {
  return Buffer.from(hash('sha256', data, 'binary'), 'binary');
}

/** Shared buffer: hashing a log of millions of events must not allocate one per node. */
const leaf = Buffer.from(leafInput(new Uint8Array(hashBytes)));
const node = Buffer.from(nodeInput(new Uint8Array(hashBytes), new Uint8Array(hashBytes)));

export function leafHash(eventHash: string): Uint8Array {
  // A hash of another length is the result of tampering: its text is hashed instead.
  if (eventHash.length !== 2 * hashBytes || leaf.write(eventHash, 1, 'hex') !== hashBytes)
    return sha256(leafInput(Buffer.from(eventHash)));
  return sha256(leaf);
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1);
  node.set(right, 1 + hashBytes);
  return sha256(node);
}

export const emptyRoot: Uint8Array = sha256(new Uint8Array());

/** The largest power of two that is smaller than `size`, which is 2 or more. */
export function splitOf(size: number): number {
  let left = 1;
  while (left * 2 < size) left *= 2;
  return left;
}

/** Root over hashes of one level, 1 or more. */
export function rootOver(hashes: readonly Uint8Array[]): Uint8Array {
  const [first] = hashes;
  if (first === undefined) throw new Error('a tree over nothing has no node');
  if (hashes.length === 1) return first;
  const left = splitOf(hashes.length);
  return nodeHash(rootOver(hashes.slice(0, left)), rootOver(hashes.slice(left)));
}

/** The root of a tree that grows leaf by leaf; holds one hash a level. */
export class GrowingTree {
  /** Of complete subtrees, largest first; their sizes are the powers of two of `#size`. */
  readonly #roots: Uint8Array[];
  #size: number;

  /** Continues after complete subtrees of these sizes, largest first; without any it is empty. */
  constructor(subtrees: readonly { readonly size: number; readonly root: Uint8Array }[] = []) {
    this.#roots = subtrees.map(({ root }) => root);
    this.#size = subtrees.reduce((total, { size }) => total + size, 0);
  }

  get size(): number {
    return this.#size;
  }

  add(leaf: Uint8Array): void {
    let hash = leaf;
    for (let rest = this.#size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
      const left = this.#roots.pop();
      if (left === undefined) throw new Error('the tree has lost a subtree');
      hash = nodeHash(left, hash);
    }
    this.#roots.push(hash);
    this.#size++;
  }

  /** `behind`: the root of what follows its leaves, not longer than the smallest subtree of them. */
  root(behind?: Uint8Array): Uint8Array {
    let hash = behind;
    for (const left of this.#roots.toReversed()) hash = hash === undefined ? left : nodeHash(left, hash);
    return hash ?? emptyRoot;
  }
}
