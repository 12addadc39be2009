/** The message from a log to a witness (C2SP tlog-witness, add-checkpoint): the size it builds on, a proof, and the signed checkpoint. */
import { toBase64 } from './base64.ts';
import { parseCheckpoint, parseWhole, type TreeHead } from './checkpoint.ts';
import { hashOf } from './proof-file.ts';
import { formatNote, parseNote, type SignedNote } from './signed-note.ts';

/** Media type of a 409: the last size that the witness saw. */
export const sizeMediaType = 'text/x.tlog.size';

const proofLinesMax = 63;

export interface Submission {
  readonly old: number;
  readonly proof: readonly Uint8Array[];
  readonly note: SignedNote;
  readonly head: TreeHead;
}

export function formatSubmission({ old, proof, note }: Omit<Submission, 'head'>): string {
  return `old ${old}\n${proof.map((hash) => `${toBase64(hash)}\n`).join('')}\n${formatNote(note)}`;
}

/** Null for a text that is not such a request. */
export function parseSubmission(body: string): Submission | null {
  const split = body.indexOf('\n\n');
  if (split < 0) return null;
  const [oldLine = '', ...lines] = body.slice(0, split).split('\n');
  const old = oldLine.startsWith('old ') ? parseWhole(oldLine.slice('old '.length)) : null;
  const note = parseNote(body.slice(split + 2));
  const proof = lines.map(hashOf).filter((hash) => hash !== null);
  if (old === null || note === null || proof.length !== lines.length || lines.length > proofLinesMax) return null;
  const head = parseCheckpoint(note.text);
  return head === null ? null : { old, proof, note, head };
}
