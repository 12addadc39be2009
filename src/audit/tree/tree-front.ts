/**
 * The end of a stored tree in memory [audit §9]: a checkpoint adds the events that were just verified without reading them
 * again. It holds one hash per level and the leaves outside full tiles.
 */
import { sameBytes } from '../../transparency/base64.ts';
import { GrowingTree, leafHash, rootOver } from './tree-hash.ts';
import { type ReadTile, type Tile, TreeProofs, tileOver, tileWidth } from './tree-proofs.ts';

export class TreeFront {
  /** Over the roots of full tiles. */
  readonly #tiles: GrowingTree;
  /** Leaves after them. */
  #rest: readonly Uint8Array[];
  #root: Uint8Array;

  private constructor(tiles: GrowingTree, rest: readonly Uint8Array[]) {
    this.#tiles = tiles;
    this.#rest = rest;
    this.#root = this.#rootNow();
  }

  /** Of the first `size` leaves of a tree that holds them. */
  static async of(read: ReadTile, size: number): Promise<TreeFront> {
    const width = size % tileWidth;
    const rest = width === 0 ? [] : await read(0, Math.floor(size / tileWidth), width);
    const subtrees = await new TreeProofs(read, size - width).subtrees();
    return new TreeFront(new GrowingTree(subtrees.map((one) => ({ ...one, size: one.size / tileWidth }))), rest);
  }

  get size(): number {
    return this.#tiles.size * tileWidth + this.#rest.length;
  }

  get root(): Uint8Array {
    return this.#root;
  }

  /** Whether a store holds the same full tiles. */
  async isIn(read: ReadTile): Promise<boolean> {
    return sameBytes(await new TreeProofs(read, this.#tiles.size * tileWidth).root(), this.#tiles.root());
  }

  /** The tiles that these entries complete, by their number. */
  add(eventHashes: readonly string[]): ReadonlyMap<number, Tile> {
    const leaves = [...this.#rest, ...eventHashes.map(leafHash)];
    const filled = new Map<number, Tile>();
    let at = 0;
    for (; at + tileWidth <= leaves.length; at += tileWidth) {
      const tile = tileOver(leaves.slice(at, at + tileWidth));
      filled.set(this.#tiles.size, tile);
      this.#tiles.add(tile.root);
    }
    this.#rest = leaves.slice(at);
    this.#root = this.#rootNow();
    return filled;
  }

  #rootNow(): Uint8Array {
    return this.#tiles.root(this.#rest.length === 0 ? undefined : rootOver(this.#rest));
  }
}
