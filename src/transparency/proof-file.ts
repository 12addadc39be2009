/**
 * Proof files (C2SP tlog-proof, version 1): the entry's position in a tree, the hashes up to its root, and the checkpoint of
 * that tree. With the keys of the log and of its witnesses it can be verified without the log.
 */
import { fromBase64, toBase64, toHex } from './base64.ts';
import { parseCheckpoint, parseWhole, type TreeHead } from './checkpoint.ts';
import { cosignedAt } from './cosignature.ts';
import { type Cryptography, hashBytes, leafInput } from './hashing.ts';
import { includes } from './merkle-proof.ts';
import { formatNote, isSignedBy, parseNote, type SignedNote, type Verifier } from './signed-note.ts';

const header = 'c2sp.org/tlog-proof@v1';
/** More levels than any tree has. */
const hashesMax = 63;

export interface ProofFile {
  /** What the entry contains: here the canonical text of an event. */
  readonly extra: Uint8Array;
  readonly index: number;
  readonly proof: readonly Uint8Array[];
  readonly checkpoint: SignedNote;
}

export function formatProofFile({ extra, index, proof, checkpoint }: ProofFile): string {
  const hashes = proof.map((hash) => `${toBase64(hash)}\n`).join('');
  return `${header}\nextra ${toBase64(extra)}\nindex ${index}\n${hashes}\n${formatNote(checkpoint)}`;
}

/** Null for a text that is not such a file. */
export function parseProofFile(text: string): ProofFile | null {
  const split = text.indexOf('\n\n');
  const [first, extraLine = '', indexLine = '', ...hashLines] = text.slice(0, Math.max(0, split)).split('\n');
  const checkpoint = parseNote(text.slice(split + 2));
  if (first !== header || checkpoint === null || hashLines.length > hashesMax) return null;
  const extra = extraLine.startsWith('extra ') ? fromBase64(extraLine.slice('extra '.length)) : null;
  const index = indexLine.startsWith('index ') ? parseWhole(indexLine.slice('index '.length)) : null;
  const proof = hashLines.map(hashOf).filter((hash) => hash !== null);
  if (extra === null || index === null || proof.length !== hashLines.length) return null;
  return { extra, index, proof, checkpoint };
}

/** A hash on a line of its own, or null. */
export function hashOf(line: string): Uint8Array | null {
  const bytes = fromBase64(line);
  return bytes?.length === hashBytes ? bytes : null;
}

export interface ProofQuestion {
  readonly log: Verifier;
  /** Required: each must have cosigned. */
  readonly witnesses: readonly Verifier[];
  /** The hash that the writer was told, as lowercase hexadecimal. */
  readonly hash: string | null;
}

export type ProofAnswer =
  | {
      readonly holds: true;
      readonly head: TreeHead;
      readonly index: number;
      /** Hash of the event, as lowercase hexadecimal. */
      readonly hash: string;
      /** The event's canonical text. */
      readonly text: string;
      readonly cosignatures: readonly { readonly name: string; readonly timeSeconds: number }[];
    }
  | { readonly holds: false; readonly reason: string };

const no = (reason: string): ProofAnswer => ({ holds: false, reason });

/** Whether the file proves that its event is in the log, and the event. */
export async function checkProof(
  file: string,
  question: ProofQuestion,
  cryptography: Cryptography,
): Promise<ProofAnswer> {
  const parsed = parseProofFile(file);
  if (parsed === null) return no('this is not a proof: its form is not that of c2sp.org/tlog-proof@v1');
  const { extra, index, proof, checkpoint } = parsed;
  const head = parseCheckpoint(checkpoint.text);
  if (head === null) return no('the signed text in it is not a checkpoint');
  if (head.origin !== question.log.name)
    return no(`the checkpoint is of ${head.origin}, the key is of ${question.log.name}`);
  if (!(await isSignedBy(checkpoint, question.log, cryptography)))
    return no(`the checkpoint is not signed with the key of ${question.log.name}`);
  const cosignatures = [];
  for (const witness of question.witnesses) {
    const timeSeconds = await cosignedAt(checkpoint, witness, cryptography);
    if (timeSeconds === null) return no(`the witness ${witness.name} did not cosign the checkpoint`);
    cosignatures.push({ name: witness.name, timeSeconds });
  }
  const entry = await cryptography.sha256(extra);
  const hash = toHex(entry);
  if (question.hash !== null && question.hash !== hash)
    return no(`the event in it has the hash ${hash}, not the one asked for`);
  const leaf = { index, hash: await cryptography.sha256(leafInput(entry)) };
  if (!(await includes(head, leaf, proof, cryptography)))
    return no(`the event is not entry ${index} of the tree that the checkpoint is of`);
  return { holds: true, head, index, hash, text: new TextDecoder().decode(extra), cosignatures };
}
