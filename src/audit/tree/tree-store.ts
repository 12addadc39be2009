/**
 * The stored tree of a chain [audit §9]: full tiles of hashes beside the events. It is extended to the chain's end before each
 * checkpoint; leaves outside full tiles are read from the events. The only writer of the tables of `tree-tables.ts`.
 */
import type { Clock } from '../../base/clock.ts';
import type { Database, Transaction } from '../../storage/database.ts';
import { leafHash } from './tree-hash.ts';
import { type ReadTile, splitHashes, type Tile, tileOver, tileWidth } from './tree-proofs.ts';

export interface StoredTree {
  readonly chainId: number;
  readonly segment: number;
  readonly origin: string;
  /** Sequence of entry 0. */
  readonly first: number;
}

type Query = Pick<Transaction, 'selectFrom'>;

/** Tiles per transaction: other writers get their turn. */
const tilesPerTurn = 8;

/** All trees of a chain, oldest first. */
export async function treesOf(query: Query, chainId: number): Promise<StoredTree[]> {
  const rows = await query
    .selectFrom('audit_tree')
    .selectAll()
    .where('chain_id', '=', chainId)
    .orderBy('segment')
    .execute();
  return rows.map((row) => ({
    chainId,
    segment: row.segment,
    origin: row.origin,
    first: row.first_sequence,
  }));
}

export async function beginTree(transaction: Transaction, tree: StoredTree): Promise<void> {
  await transaction
    .insertInto('audit_tree')
    .values({ chain_id: tree.chainId, segment: tree.segment, origin: tree.origin, first_sequence: tree.first })
    .execute();
}

/** Stores every full tile up to this sequence, some at a time; `known`: those that need not be computed from the events. */
export async function storeTree(
  database: Database,
  clock: Clock,
  tree: StoredTree,
  through: number,
  known: ReadonlyMap<number, Tile> = new Map(),
): Promise<void> {
  const full = Math.floor((through - tree.first + 1) / tileWidth);
  // Checked outside of a transaction first: usually there is nothing to do.
  while ((await fullTiles(database.query, tree)) < full) {
    await database.transaction(async (transaction) => {
      const from = await fullTiles(transaction, tree);
      for (let tile = from; tile < Math.min(full, from + tilesPerTurn); tile++)
        await storeTile(transaction, tree, tile, known.get(tile));
    });
    await new Promise<void>((resolve) => clock.soon(resolve));
  }
}

/** Number of stored full tiles of leaves. */
async function fullTiles(query: Query, tree: StoredTree): Promise<number> {
  const row = await query
    .selectFrom('audit_tile')
    .select('tile')
    .where('chain_id', '=', tree.chainId)
    .where('segment', '=', tree.segment)
    .where('level', '=', 0)
    .where('width', '=', tileWidth)
    .orderBy('tile', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? 0 : row.tile + 1;
}

/** A full tile of leaves, and each tile above that it completes. */
async function storeTile(
  transaction: Transaction,
  tree: StoredTree,
  number: number,
  known: Tile | undefined,
): Promise<void> {
  const read = readTiles(transaction, tree);
  let tile = number;
  for (let level = 0; ; level++) {
    const whole = level === 0 ? known : undefined;
    await insertTile(transaction, tree, { level, tile }, whole ?? tileOver(await read(level, tile, tileWidth)));
    if ((tile + 1) % tileWidth !== 0) return;
    tile = Math.floor(tile / tileWidth);
  }
}

async function insertTile(
  transaction: Transaction,
  { chainId, segment }: StoredTree,
  place: { readonly level: number; readonly tile: number },
  { hashes, root }: Tile,
): Promise<void> {
  const row = { chain_id: chainId, segment, ...place, width: hashes.length };
  await transaction
    .insertInto('audit_tile')
    .values({ ...row, root, hashes: Buffer.concat(hashes) })
    .execute();
}

/** Stores the leaves up to this sequence outside full tiles: retention is about to remove their events. */
export async function keepLeaves(transaction: Transaction, tree: StoredTree, through: number): Promise<void> {
  const size = through - tree.first + 1;
  const width = size % tileWidth;
  if (size <= 0 || width === 0) return;
  const tile = Math.floor(size / tileWidth);
  const kept = await transaction
    .selectFrom('audit_tile')
    .select('width')
    .where('chain_id', '=', tree.chainId)
    .where('segment', '=', tree.segment)
    .where('level', '=', 0)
    .where('tile', '=', tile)
    .where('width', '>=', width)
    .executeTakeFirst();
  if (kept !== undefined) return;
  await insertTile(transaction, tree, { level: 0, tile }, tileOver(await readTiles(transaction, tree)(0, tile, width)));
}

/** Reads tiles of a stored tree; missing ones are computed from the events, or from the tiles below. */
export function readTiles(query: Query, tree: StoredTree): ReadTile {
  const stored = (level: number) =>
    query
      .selectFrom('audit_tile')
      .where('chain_id', '=', tree.chainId)
      .where('segment', '=', tree.segment)
      .where('level', '=', level);
  return async (level, tile, width) => {
    const row = await stored(level)
      .select(['width', 'hashes'])
      .where('tile', '=', tile)
      .orderBy('width', 'desc')
      .limit(1)
      .executeTakeFirst();
    const known = row === undefined ? [] : splitHashes(row.hashes);
    if (known.length >= width) return known.slice(0, width);
    const first = tile * tileWidth;
    const rest =
      level === 0
        ? await leavesOf(query, tree, first + known.length, first + width)
        : (
            await stored(level - 1)
              .select('root')
              .where('width', '=', tileWidth)
              .where('tile', '>=', first)
              .where('tile', '<', first + width)
              .orderBy('tile')
              .execute()
          ).map(({ root }) => root);
    const hashes = level === 0 ? [...known, ...rest] : rest;
    if (hashes.length !== width)
      throw new Error(`the audit tree ${tree.origin} lacks hashes of level ${level}, tile ${tile}`);
    return hashes;
  };
}

async function leavesOf(query: Query, tree: StoredTree, from: number, to: number): Promise<Uint8Array[]> {
  const rows = await query
    .selectFrom('audit_event')
    .select('hash')
    .where('chain_id', '=', tree.chainId)
    .where('sequence', '>=', tree.first + from)
    .where('sequence', '<', tree.first + to)
    .orderBy('sequence')
    .execute();
  return rows.map(({ hash }) => leafHash(hash));
}
