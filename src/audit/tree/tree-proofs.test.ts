/** Roots and proofs of the audit tree [audit §9] against RFC 6962, implemented here a second time from its text. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extendsTree, includes } from '../../transparency/merkle-proof.ts';
import { nodeCryptography } from '../../transparency/signing.ts';
import { TreeFront } from './tree-front.ts';
import { GrowingTree, leafHash, nodeHash, rootOver } from './tree-hash.ts';
import { type ReadTile, TreeProofs, tileWidth } from './tree-proofs.ts';

const sha256 = (...parts: Uint8Array[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest();

/** MTH of RFC 6962, 2.1, over the entries themselves. */
function definedRoot(entries: readonly Buffer[]): Buffer {
  const [only] = entries;
  if (only === undefined) return sha256(Buffer.alloc(0));
  if (entries.length === 1) return sha256(Buffer.of(0), only);
  let left = 1;
  while (left * 2 < entries.length) left *= 2;
  return sha256(Buffer.of(1), definedRoot(entries.slice(0, left)), definedRoot(entries.slice(left)));
}

/** PATH of RFC 6962, 2.1.1. */
function definedPath(index: number, entries: readonly Buffer[]): Buffer[] {
  if (entries.length === 1) return [];
  let left = 1;
  while (left * 2 < entries.length) left *= 2;
  return index < left
    ? [...definedPath(index, entries.slice(0, left)), definedRoot(entries.slice(left))]
    : [...definedPath(index - left, entries.slice(left)), definedRoot(entries.slice(0, left))];
}

const eventHashes = Array.from({ length: 700 }, (_, number) => sha256(Buffer.from(`event ${number}`)).toString('hex'));
const entries = eventHashes.map((hash) => Buffer.from(hash, 'hex'));

/** Tiles over these leaves, as a store would hold them. */
function tilesOf(hashes: readonly string[]): ReadTile {
  const leaves = hashes.map(leafHash);
  return async (level, tile, width) => {
    const span = tileWidth ** level;
    return Array.from({ length: width }, (_, at) => {
      const from = (tile * tileWidth + at) * span;
      return rootOver(leaves.slice(from, from + span));
    });
  };
}

const proofsOf = (size: number): TreeProofs => new TreeProofs(tilesOf(eventHashes), size);

const bytes = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');
const sizes = fc.integer({ min: 1, max: entries.length });

describe('the audit tree', () => {
  test('[audit §9] has the roots and inclusion proofs that RFC 6962 defines', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), async (size, random) => {
        const index = random % size;
        const proofs = proofsOf(size);
        expect(bytes(await proofs.root())).toBe(bytes(definedRoot(entries.slice(0, size))));
        expect((await proofs.inclusion(index)).map(bytes)).toEqual(
          definedPath(index, entries.slice(0, size)).map(bytes),
        );
      }),
      { numRuns: 150 },
    );
    expect(bytes(await proofsOf(0).root())).toBe(bytes(definedRoot([])));
  });

  test('[audit §9] grown leaf by leaf it has the same roots', () => {
    const tree = new GrowingTree();
    expect(bytes(tree.root())).toBe(bytes(definedRoot([])));
    for (const [index, hash] of eventHashes.slice(0, 300).entries()) {
      tree.add(leafHash(hash));
      expect(tree.size).toBe(index + 1);
      expect(bytes(tree.root())).toBe(bytes(definedRoot(entries.slice(0, index + 1))));
    }
  });

  test('[audit §9] its front continues from any size with the same roots and tiles, and reads nothing', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.array(fc.nat(300), { maxLength: 4 }), async (size, steps) => {
        const front = await TreeFront.of(tilesOf(eventHashes.slice(0, size)), size);
        let to = size;
        for (const step of [0, ...steps]) {
          const from = to;
          to = Math.min(eventHashes.length, from + step);
          const filled = front.add(eventHashes.slice(from, to));
          expect(front.size).toBe(to);
          expect(bytes(front.root)).toBe(bytes(definedRoot(entries.slice(0, to))));
          const first = Math.floor(from / tileWidth);
          expect([...filled.keys()]).toEqual(
            Array.from({ length: Math.floor(to / tileWidth) - first }, (_, at) => first + at),
          );
          for (const [tile, { hashes, root }] of filled) {
            const own = eventHashes.slice(tile * tileWidth, (tile + 1) * tileWidth);
            expect(hashes.map(bytes)).toEqual(own.map(leafHash).map(bytes));
            expect(bytes(root)).toBe(bytes(rootOver(hashes)));
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  test('[audit §9] valid proofs verify, and no others', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), fc.nat(), async (size, random, other) => {
        const index = random % size;
        const proofs = proofsOf(size);
        const tree = { size, root: await proofs.root() };
        const leaf = { index, hash: leafHash(eventHashes[index] ?? '') };
        const proof = await proofs.inclusion(index);
        expect(await includes(tree, leaf, proof, nodeCryptography)).toBe(true);
        const elsewhere = { ...leaf, index: (index + 1 + (other % size)) % (size + 1) };
        if (elsewhere.index !== index) expect(await includes(tree, elsewhere, proof, nodeCryptography)).toBe(false);
        const another = { ...leaf, hash: leafHash('ff') };
        expect(await includes(tree, another, proof, nodeCryptography)).toBe(false);
        expect(await includes(tree, leaf, [...proof, leaf.hash], nodeCryptography)).toBe(false);
        if (proof.length > 0) expect(await includes(tree, leaf, proof.slice(1), nodeCryptography)).toBe(false);
      }),
      { numRuns: 150 },
    );
  });

  test('[audit §9] sizes next to a power of two are distinguished from it, up to 2^52 + 1', async () => {
    const [left, own, next] = [leafHash('aa'), leafHash('bb'), leafHash('cc')];
    for (const exponent of [10, 48, 52]) {
      const before = { size: 2 ** exponent + 1, root: nodeHash(left, own) };
      const after = { size: before.size + 1, root: nodeHash(left, nodeHash(own, next)) };
      expect(await extendsTree(before, after, [own, next, left], nodeCryptography)).toBe(true);
      expect(await extendsTree(before, after, [next, left], nodeCryptography)).toBe(false);
    }
  });

  test('[audit §9] a tree extends each of its prefixes, and no other', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), async (size, random) => {
        const proofs = proofsOf(size);
        const old = 1 + (random % size);
        const before = { size: old, root: await proofs.rootAt(old) };
        const after = { size, root: await proofs.root() };
        const proof = await proofs.consistency(old);
        expect(await extendsTree(before, after, proof, nodeCryptography)).toBe(true);
        const forged = { ...before, root: leafHash('ff') };
        expect(await extendsTree(forged, after, proof, nodeCryptography)).toBe(false);
        expect(await extendsTree(before, { ...after, root: leafHash('ff') }, proof, nodeCryptography)).toBe(false);
        expect(await extendsTree(before, after, [...proof, before.root], nodeCryptography)).toBe(false);
        expect(await extendsTree({ size: 0, root: before.root }, after, [], nodeCryptography)).toBe(true);
        expect(await extendsTree({ ...after, size: size + 1 }, after, [], nodeCryptography)).toBe(false);
      }),
      { numRuns: 150 },
    );
  });
});
