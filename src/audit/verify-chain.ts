/**
 * Verification of one chain with its trees [audit §7], [audit §9], event by event, from any source. After an acknowledged break
 * the chain has parts: each is verified separately, with its own checkpoints.
 */
import { anchoredSequence, believedMark, type Evidence, type NamedTree } from './evidence.ts';
import { isAbout } from './statement.ts';
import { type ChainOwner, nameOf } from './store/chain.ts';
import {
  acknowledgeAction,
  type ChainRecord,
  type ChainReport,
  type ChainWalk,
  type RetentionMark,
  walkChain,
} from './store/chain-walk.ts';
import { type KeptLeaves, TreeCheck } from './tree/tree-check.ts';

export interface VerifiedChain {
  readonly owner: ChainOwner;
  /** The stored last event. */
  readonly sequence: number;
  readonly hash: string;
  readonly marks: readonly { readonly auditedBy: number; readonly mark: string }[];
  /** Oldest first. */
  readonly trees: readonly NamedTree[];
}

interface Part {
  readonly walk: ChainWalk;
  /** Events up to here were removed by retention, and are skipped. */
  readonly skippedThrough: number;
}

export class ChainVerifier {
  readonly #chain: VerifiedChain;
  readonly #evidence: Evidence;
  readonly #problems: string[];
  readonly #mark: RetentionMark | null;
  readonly #checks: readonly TreeCheck[];
  readonly #reports: ChainReport[] = [];
  #at = 0;
  #part: Part;

  /** Problems of the chain other than those of its events are added to `problems`. */
  constructor(chain: VerifiedChain, evidence: Evidence, problems: string[]) {
    this.#chain = chain;
    this.#evidence = evidence;
    this.#problems = problems;
    const anchored = anchoredSequence(chain.owner, chain.trees, evidence);
    this.#mark = believedMark(chain.owner, chain.marks, { ...evidence, anchored }, problems);
    this.#checks = chain.trees.map(
      ({ first, origin }) =>
        new TreeCheck(
          first,
          evidence.roots.filter((root) => root.origin === origin),
        ),
    );
    this.#part = this.#begin(null);
  }

  /** Stored hashes of a tree, before or after the events. */
  keep(tree: number, leaves: KeptLeaves): void {
    this.#checks[tree]?.keep(leaves);
  }

  add(record: ChainRecord): void {
    const sequence = Number(record.event.sequence);
    const next = this.#chain.trees[this.#at + 1];
    if (next !== undefined && sequence >= next.first) this.#turn(next.first, record);
    if (sequence <= this.#part.skippedThrough) return;
    this.#part.walk.add(record);
    this.#checks[this.#at]?.add(sequence, record.hash);
  }

  finish(): ChainReport[] {
    this.#end(this.#chain);
    return this.#reports;
  }

  /** Roots of the full tiles of a tree, computed from its events. */
  tileRoots(tree: number): readonly Uint8Array[] {
    return this.#checks[tree]?.tileRoots ?? [];
  }

  /** From one part to the next, which starts with the acknowledgement of the break. */
  #turn(first: number, { event }: ChainRecord): void {
    this.#end({ sequence: first - 1, hash: event.previous });
    this.#at++;
    this.#part = this.#begin(event.previous);
    if (Number(event.sequence) === first && event.action !== acknowledgeAction)
      this.#problems.push(`${nameOf(this.#chain.owner)}: no event ${first} acknowledges the break before it`);
  }

  #begin(previous: string | null): Part {
    const { owner, sequence, trees } = this.#chain;
    const anchors = this.#evidence.anchors.filter(
      ({ statement }) => isAbout(statement, owner) && treeOf(statement.note, trees) === this.#at,
    );
    const start = { owner, anchors, last: sequence };
    const tree = trees[this.#at];
    const mark = this.#mark;
    if (previous === null || tree === undefined) return { walk: walkChain({ ...start, mark }), skippedThrough: 0 };
    const markAt = mark === null ? 0 : Number(mark.statement.sequence);
    const after =
      mark !== null && markAt >= tree.first
        ? { sequence: markAt, hash: mark.statement.hash }
        : { sequence: tree.first - 1, hash: previous };
    return { walk: walkChain({ ...start, mark: null, after }), skippedThrough: after.sequence };
  }

  #end(head: { readonly sequence: number; readonly hash: string }): void {
    const { owner, trees } = this.#chain;
    const report = this.#part.walk.finish(head);
    const check = this.#checks[this.#at];
    const wrong = check?.finish() ?? null;
    const next = trees[this.#at + 1]?.first ?? null;
    const coveredExternally = Math.max(report.coveredExternally, check?.covered.external ?? 0);
    const broken = report.broken ?? (wrong === null ? null : { kind: 'tree' as const, ...wrong });
    this.#reports.push({
      ...report,
      broken,
      coveredLocally: Math.max(report.coveredLocally, check?.covered.local ?? 0),
      coveredExternally,
      acknowledgedBy: next,
    });
    if (next === null || broken === null) return;
    // An acknowledgement does not override an external anchor.
    const reached = anchoredSequence(owner, trees.slice(this.#at, this.#at + 1), this.#evidence);
    if (reached !== null && reached > coveredExternally && reached < next)
      this.#problems.push(`${nameOf(owner)}: an anchor contradicts the part before ${next}, acknowledged or not`);
  }
}

/** The tree of a checkpoint; lines from before trees existed belong to the first. */
function treeOf(note: string | undefined, trees: readonly NamedTree[]): number {
  const origin = note?.slice(0, note.indexOf('\n'));
  return origin === undefined ? 0 : trees.findIndex((tree) => tree.origin === origin);
}
