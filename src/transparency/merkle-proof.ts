/**
 * Verification of inclusion and consistency in an RFC 6962 tree, by the algorithms of RFC 9162, 2.1.3.2 and 2.1.4.2. Indexes and
 * sizes are whole numbers up to 2^53 − 1.
 */
import { sameBytes } from './base64.ts';
import { type Cryptography, nodeInput } from './hashing.ts';

type Sha256 = Pick<Cryptography, 'sha256'>;

const isOdd = (value: number): boolean => value % 2 === 1;
const half = (value: number): number => Math.floor(value / 2);

/** Whether the leaf at `index` belongs to the tree with this root. */
export async function includes(
  tree: { readonly size: number; readonly root: Uint8Array },
  leaf: { readonly index: number; readonly hash: Uint8Array },
  proof: readonly Uint8Array[],
  { sha256 }: Sha256,
): Promise<boolean> {
  if (leaf.index < 0 || leaf.index >= tree.size) return false;
  let place = leaf.index;
  let last = tree.size - 1;
  let hash = leaf.hash;
  for (const other of proof) {
    if (last === 0) return false;
    if (isOdd(place) || place === last) {
      hash = await sha256(nodeInput(other, hash));
      while (!isOdd(place) && place !== 0) [place, last] = [half(place), half(last)];
    } else hash = await sha256(nodeInput(hash, other));
    [place, last] = [half(place), half(last)];
  }
  return last === 0 && sameBytes(hash, tree.root);
}

/** Whether the tree `before` is a prefix of the tree `after`. The empty tree is a prefix of every tree. */
export async function extendsTree(
  before: { readonly size: number; readonly root: Uint8Array },
  after: { readonly size: number; readonly root: Uint8Array },
  proof: readonly Uint8Array[],
  { sha256 }: Sha256,
): Promise<boolean> {
  if (before.size > after.size) return false;
  if (before.size === after.size) return proof.length === 0 && sameBytes(before.root, after.root);
  if (before.size === 0) return proof.length === 0;
  let place = before.size - 1;
  let last = after.size - 1;
  while (isOdd(place)) [place, last] = [half(place), half(last)];
  // A size that is a power of two is one complete subtree, whose root the proof omits.
  const [first, ...others] = place === 0 ? [before.root, ...proof] : proof;
  if (first === undefined) return false;
  let old = first;
  let renewed = first;
  for (const other of others) {
    if (last === 0) return false;
    if (isOdd(place) || place === last) {
      old = await sha256(nodeInput(other, old));
      renewed = await sha256(nodeInput(other, renewed));
      while (!isOdd(place) && place !== 0) [place, last] = [half(place), half(last)];
    } else renewed = await sha256(nodeInput(renewed, other));
    [place, last] = [half(place), half(last)];
  }
  return last === 0 && sameBytes(old, before.root) && sameBytes(renewed, after.root);
}
