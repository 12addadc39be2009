/**
 * Verification of a whole trail [audit §7]: every chain of a database or of an export, against the checkpoints
 * of the data dir and against anchors kept elsewhere. Which keys are believed is decided once, here.
 */

import { sha256Hex } from '../base/digest.ts';
import { isAbout, readCheckpoints, readStatement, type Statement } from './statement.ts';
import type { ChainOwner } from './store/chain.ts';
import { type Anchor, type ChainReport, type RetentionMark, walkChain } from './store/chain-walk.ts';
import type { AuditScan } from './store/scan.ts';

export interface Evidence {
  readonly anchors: readonly Anchor[];
  readonly trusted: ReadonlySet<string>;
  /** What is wrong with the evidence itself. */
  readonly problems: readonly string[];
}

export interface TrailReport {
  readonly chains: readonly ChainReport[];
  readonly problems: readonly string[];
}

export interface EvidenceSources {
  /** Keys that the caller names; believed alone when there are any. */
  readonly keys: readonly string[];
  /** Text of a checkpoint file kept elsewhere; null without one. */
  readonly anchor: string | null;
  /** Text of the data dir's checkpoint file, or an export's checkpoints. */
  readonly checkpoints: string | null;
  /** The key of the data dir, or the one an export names. */
  readonly ownKey: string | null;
}

/**
 * Keys that the caller gave are believed; else those of the anchor, because it was kept elsewhere; else the data dir's
 * own, which proves the least: whoever can write there can sign there.
 */
export function gatherEvidence(sources: EvidenceSources): Evidence {
  const problems: string[] = [];
  const external = readFileOf(sources.anchor, 'the anchor', problems);
  if (sources.anchor !== null && external.length === 0) problems.push('the anchor holds no checkpoint');
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
  return { anchors, trusted, problems };
}

function readFileOf(text: string | null, what: string, problems: string[]): readonly Statement[] {
  if (text === null) return [];
  const { statements, badLines } = readCheckpoints(text);
  if (badLines.length > 0) problems.push(`${what} has lines that nobody signed: ${badLines.slice(0, 10).join(', ')}`);
  return statements;
}

/** The highest mark that a believed key signed; a mark of anybody else is a problem, and allows nothing. */
export function believedMark(
  owner: ChainOwner,
  marks: readonly { readonly auditedBy: number; readonly mark: string }[],
  trusted: ReadonlySet<string>,
  problems: string[],
): RetentionMark | null {
  let highest: RetentionMark | null = null;
  for (const { auditedBy, mark } of marks) {
    const statement = readStatement(mark, 'svc.audit-mark.v1');
    if (statement === null || !isAbout(statement, owner) || !trusted.has(statement.key))
      problems.push(`${nameOf(owner)}: a retention mark is not signed with a believed key`);
    else highest = { statement, auditedBy, digest: sha256Hex(mark) };
  }
  return highest;
}

export async function verifyScan(
  scan: AuditScan,
  evidence: Evidence,
  options: { readonly withDetails: boolean },
): Promise<TrailReport> {
  const problems = [...evidence.problems];
  const chains: ChainReport[] = [];
  for (const { chainId, owner, sequence, hash } of scan.chains) {
    const mark = believedMark(owner, await scan.marks(chainId), evidence.trusted, problems);
    const walk = walkChain({
      owner,
      mark,
      last: sequence,
      anchors: evidence.anchors.filter(({ statement }) => isAbout(statement, owner)),
    });
    for await (const records of scan.events(chainId, options.withDetails))
      for (const record of records) walk.add(record);
    const report = walk.finish({ sequence, hash });
    chains.push(report);
    const stored = options.withDetails && report.broken === null ? await scan.countDetails(chainId) : report.details;
    if (stored !== report.details) problems.push(`${nameOf(owner)}: there are details that belong to no event`);
  }
  for (const chainId of scan.headless) problems.push(`the events of chain ${chainId} have no head`);
  return { chains: [...chains, ...lostChains(evidence, chains)], problems };
}

/** Chains that an anchor knows and nobody else. */
export function lostChains(evidence: Evidence, found: readonly ChainReport[]): ChainReport[] {
  const known = new Set(found.map(({ owner }) => nameOf(owner)));
  const lost = new Map<string, ChainOwner>();
  for (const { statement } of evidence.anchors) {
    const { log, tenantId, projectId } = statement;
    if (!known.has(nameOf(statement))) lost.set(nameOf(statement), { log, tenantId, projectId });
  }
  return [...lost.values()].map((owner) =>
    walkChain({
      owner,
      mark: null,
      anchors: evidence.anchors.filter(({ statement }) => isAbout(statement, owner)),
    }).finish(undefined),
  );
}

export function nameOf({ log, tenantId, projectId }: ChainOwner): string {
  return `${log} of ${tenantId}/${projectId}`;
}
