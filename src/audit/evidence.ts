/**
 * The evidence against which a trail is verified [audit §7], [audit §9]: checkpoints of the data dir, and external anchors.
 * The trusted keys are chosen once, here.
 */
import { sha256Hex } from '../base/digest.ts';
import { parseCheckpoint } from '../transparency/checkpoint.ts';
import { parseProofFile } from '../transparency/proof-file.ts';
import { formatNote, parseNote, type SignedNote } from '../transparency/signed-note.ts';
import { noteIsSignedWith } from '../transparency/signing.ts';
import { LineNumbers } from './line-numbers.ts';
import { isAbout, readCheckpoints, readStatement, type Statement } from './statement.ts';
import { type ChainOwner, nameOf } from './store/chain.ts';
import type { Anchor, RetentionMark } from './store/chain-walk.ts';
import type { SignedRoot } from './tree/tree-check.ts';

/** A tree of a chain: the name that its checkpoints have, and the sequence of its first entry. */
export interface NamedTree {
  readonly origin: string;
  readonly first: number;
}

/** A signed head of a tree. */
export interface RootAnchor extends SignedRoot {
  readonly origin: string;
}

export interface Evidence {
  readonly anchors: readonly Anchor[];
  readonly roots: readonly RootAnchor[];
  readonly trusted: ReadonlySet<string>;
  /** Problems of the evidence itself. */
  readonly problems: readonly string[];
}

export interface EvidenceSources {
  /** Keys named by the caller; if there are any, only these are trusted. */
  readonly keys: readonly string[];
  /** An external anchor: a checkpoint file, a checkpoint as a signed note, or a proof that contains one. Null without one. */
  readonly anchor: string | null;
  /** Text of the data dir's checkpoint file, or an export's checkpoints. */
  readonly checkpoints: string | null;
  /** The key of the data dir, or the one named in an export. */
  readonly ownKey: string | null;
}

/**
 * Keys given by the caller are trusted; otherwise those of the anchor, because it was stored elsewhere; otherwise the data dir's own, which
 * proves least: anyone with write access there can sign.
 */
export function gatherEvidence(sources: EvidenceSources): Evidence {
  const problems: string[] = [];
  const note = sources.anchor === null ? null : noteIn(sources.anchor);
  const external = readFileOf(note === null ? sources.anchor : null, 'the anchor', problems);
  if (sources.anchor !== null && note === null && external.length === 0)
    problems.push('the anchor contains no checkpoint');
  const local = readFileOf(sources.checkpoints, 'the checkpoint file', problems);
  const own = sources.ownKey === null ? local.map((statement) => statement.key) : [sources.ownKey];
  const candidates = [sources.keys, external.map((statement) => statement.key), own];
  const trusted = new Set(candidates.find((keys) => keys.length > 0));
  if (sources.ownKey !== null && !trusted.has(sources.ownKey))
    problems.push('the data was signed with another key than the one believed');
  const anchors: Anchor[] = [];
  const add = (statements: readonly Statement[], isExternal: boolean, what: string): void => {
    const foreign = statements.filter((statement) => !trusted.has(statement.key));
    if (foreign.length > 0)
      problems.push(`${foreign.length} lines of ${what} are signed with a key that is not believed`);
    for (const statement of statements)
      if (trusted.has(statement.key)) anchors.push({ statement, external: isExternal });
  };
  add(external, true, 'the anchor');
  add(local, false, 'the checkpoint file');
  const roots = anchors.flatMap(({ statement, external: isExternal }) => rootOf(statement.note, isExternal));
  if (note !== null) {
    const [head] = rootOf(formatNote(note), true);
    const isBelieved = [...trusted].some(
      (key) => head !== undefined && noteIsSignedWith(note, head.origin, Buffer.from(key, 'base64url')),
    );
    if (head === undefined) problems.push('the anchor is a signed note, but no checkpoint');
    else if (isBelieved) roots.push(head);
    else problems.push('the anchor is signed with a key that is not believed');
  }
  return { anchors, roots, trusted, problems };
}

/** The checkpoint of an anchor that is a note or a proof; null for a checkpoint file. */
function noteIn(anchor: string): SignedNote | null {
  return anchor.startsWith('{') ? null : (parseProofFile(anchor)?.checkpoint ?? parseNote(anchor));
}

export function rootOf(noteText: string | undefined, external: boolean): RootAnchor[] {
  const note = noteText === undefined ? null : parseNote(noteText);
  const head = note === null ? null : parseCheckpoint(note.text);
  return head === null ? [] : [{ ...head, external }];
}

function readFileOf(text: string | null, what: string, problems: string[]): readonly Statement[] {
  if (text === null) return [];
  const { statements, badLines } = readCheckpoints(text);
  const unsigned = LineNumbers.of(badLines).text();
  if (unsigned !== null) problems.push(`not signed, in ${what}: ${unsigned}`);
  return statements;
}

/**
 * The highest mark with a trusted signature; a mark with another one is a problem, and allows nothing. With anchors, a mark
 * counts only if they cover the event that records it: a stolen key could sign another mark now.
 */
export function believedMark(
  owner: ChainOwner,
  marks: readonly { readonly auditedBy: number; readonly mark: string }[],
  { trusted, anchored }: { readonly trusted: ReadonlySet<string>; readonly anchored: number | null },
  problems: string[],
): RetentionMark | null {
  let highest: RetentionMark | null = null;
  for (const { auditedBy, mark } of marks) {
    const statement = readStatement(mark, 'mark');
    if (statement === null || !isAbout(statement, owner) || !trusted.has(statement.key))
      problems.push(`${nameOf(owner)}: a retention mark is not signed with a believed key`);
    else if (anchored === null || auditedBy <= anchored) highest = { statement, auditedBy, digest: sha256Hex(mark) };
  }
  return highest;
}

/** The highest sequence of a chain that an external anchor covers; null without anchors. */
export function anchoredSequence(owner: ChainOwner, trees: readonly NamedTree[], evidence: Evidence): number | null {
  const statements = evidence.anchors.filter((anchor) => anchor.external && isAbout(anchor.statement, owner));
  const heads = evidence.roots.flatMap(({ origin, size, external }) => {
    const tree = external ? trees.find((one) => one.origin === origin) : undefined;
    return tree === undefined ? [] : [tree.first + size - 1];
  });
  const sequences = [...statements.map(({ statement }) => Number(statement.sequence)), ...heads];
  return sequences.length === 0 ? null : Math.max(...sequences);
}
