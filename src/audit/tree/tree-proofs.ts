/**
 * Roots and proofs of a stored tree (RFC 6962, 2.1). Hashes are kept in tiles of 256, as C2SP tlog-tiles has them: a tile of level
 * 0 holds leaf hashes, one of level 1 the roots of 256 tiles of level 0, and so on. A proof reads two tiles per level.
 */
import { hashBytes } from '../../transparency/hashing.ts';
import { emptyRoot, nodeHash, rootOver, splitOf } from './tree-hash.ts';

export const tileWidth = 256;
const tileHeight = 8;

/** Consecutive hashes of a tile. */
export function splitHashes(hashes: Uint8Array): Uint8Array[] {
  return Array.from({ length: Math.floor(hashes.length / hashBytes) }, (_, at) =>
    hashes.subarray(at * hashBytes, (at + 1) * hashBytes),
  );
}

export interface Tile {
  readonly hashes: readonly Uint8Array[];
  /** Over them. */
  readonly root: Uint8Array;
}

export function tileOver(hashes: readonly Uint8Array[]): Tile {
  return { hashes, root: rootOver(hashes) };
}

/** The first `width` hashes of a tile. */
export type ReadTile = (level: number, tile: number, width: number) => Promise<readonly Uint8Array[]>;

export class TreeProofs {
  readonly #read: ReadTile;
  readonly #size: number;
  readonly #tiles = new Map<string, Promise<readonly Uint8Array[]>>();

  /** Of the first `size` leaves, even if there are more by now. */
  constructor(read: ReadTile, size: number) {
    this.#read = read;
    this.#size = size;
  }

  root(): Promise<Uint8Array> {
    return this.#size === 0 ? Promise.resolve(emptyRoot) : this.#range(0, this.#size);
  }

  /** The root of the first `size` leaves. */
  rootAt(size: number): Promise<Uint8Array> {
    return size === 0 ? Promise.resolve(emptyRoot) : this.#range(0, size);
  }

  /** The complete subtrees that the tree splits into, largest first. */
  async subtrees(): Promise<{ readonly size: number; readonly root: Uint8Array }[]> {
    const subtrees = [];
    for (let from = 0; from < this.#size; ) {
      const size = 2 ** Math.floor(Math.log2(this.#size - from));
      subtrees.push({ size, root: await this.#range(from, from + size) });
      from += size;
    }
    return subtrees;
  }

  /** Hashes from the leaf up to the root, nearest first. */
  inclusion(index: number): Promise<Uint8Array[]> {
    return this.#path(index, 0, this.#size);
  }

  /** Proves that the first `size` leaves, 1 or more, are a prefix. */
  consistency(size: number): Promise<Uint8Array[]> {
    return this.#prefix(size, 0, this.#size, true);
  }

  async #path(index: number, from: number, to: number): Promise<Uint8Array[]> {
    if (to - from === 1) return [];
    const middle = from + splitOf(to - from);
    return index < middle
      ? [...(await this.#path(index, from, middle)), await this.#range(middle, to)]
      : [...(await this.#path(index, middle, to)), await this.#range(from, middle)];
  }

  async #prefix(end: number, from: number, to: number, isWhole: boolean): Promise<Uint8Array[]> {
    if (end === to) return isWhole ? [] : [await this.#range(from, to)];
    const middle = from + splitOf(to - from);
    return end <= middle
      ? [...(await this.#prefix(end, from, middle, isWhole)), await this.#range(middle, to)]
      : [...(await this.#prefix(end, middle, to, false)), await this.#range(from, middle)];
  }

  /** Root of a range that a tree of this size splits into; complete subtrees come from one tile. */
  async #range(from: number, to: number): Promise<Uint8Array> {
    const height = Math.log2(to - from);
    if (Number.isInteger(height)) return this.#node(height, from / 2 ** height);
    const middle = from + splitOf(to - from);
    return nodeHash(await this.#range(from, middle), await this.#range(middle, to));
  }

  async #node(height: number, index: number): Promise<Uint8Array> {
    const level = Math.floor(height / tileHeight);
    const count = 2 ** (height % tileHeight);
    const first = index * count;
    const hashes = await this.#tile(level, Math.floor(first / tileWidth));
    return rootOver(hashes.slice(first % tileWidth, (first % tileWidth) + count));
  }

  #tile(level: number, tile: number): Promise<readonly Uint8Array[]> {
    const name = `${level}/${tile}`;
    const known = this.#tiles.get(name);
    if (known !== undefined) return known;
    const whole = Math.floor(this.#size / tileWidth ** level);
    const read = this.#read(level, tile, Math.min(tileWidth, whole - tile * tileWidth));
    this.#tiles.set(name, read);
    return read;
  }
}
