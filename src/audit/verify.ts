/**
 * Verification of a whole trail [audit §7], [audit §9]: every chain of a database, with its trees, against checkpoints and anchors.
 */
import { sameBytes } from '../transparency/base64.ts';
import { cosignedAt } from '../transparency/cosignature.ts';
import { formatNote, parseNote, type Verifier } from '../transparency/signed-note.ts';
import { nodeCryptography } from '../transparency/signing.ts';
import { type Evidence, type RootAnchor, rootOf } from './evidence.ts';
import { isAbout } from './statement.ts';
import { type ChainOwner, nameOf } from './store/chain.ts';
import { type ChainRecord, type ChainReport, walkChain } from './store/chain-walk.ts';
import type { AuditScan, ScannedTile } from './store/scan.ts';
import type { KeptLeaves } from './tree/tree-check.ts';
import { rootOver } from './tree/tree-hash.ts';
import { splitHashes, tileWidth } from './tree/tree-proofs.ts';
import type { StoredTree } from './tree/tree-store.ts';
import { ChainVerifier } from './verify-chain.ts';

export interface TrailReport {
  readonly chains: readonly ChainReport[];
  readonly problems: readonly string[];
}

/** Whether there is no problem, or only acknowledged ones. */
export function trailHolds({ chains, problems }: TrailReport): boolean {
  return problems.length === 0 && chains.every((chain) => chain.broken === null || chain.acknowledgedBy !== null);
}

export interface VerifyScanOptions {
  readonly withDetails: boolean;
  readonly witnesses?: readonly Verifier[];
  /** Called for each event as it is read. */
  readonly onRecord?: (owner: ChainOwner, record: ChainRecord) => void;
}

export async function verifyScan(
  scan: AuditScan,
  evidence: Evidence,
  options: VerifyScanOptions,
): Promise<TrailReport> {
  const problems = [...evidence.problems];
  // Runs beside the reading of events; its result is used below.
  const damage = scan.damage().catch((error: unknown) => String(error));
  const chains: ChainReport[] = [];
  const origins = new Set<string>();
  for (const chain of scan.chains) {
    const trees = await scan.trees(chain.chainId);
    for (const { origin } of trees) origins.add(origin);
    const last = trees.at(-1);
    const checkpoint = last === undefined ? null : await scan.cosigned(last);
    const name = last?.origin ?? nameOf(chain.owner);
    const cosigned = await cosignedRoots(name, checkpoint, options.witnesses ?? [], problems);
    const all = { ...evidence, roots: [...evidence.roots, ...cosigned] };
    const reports = await verifyStored(scan, chain, trees, all, options, problems);
    chains.push(...reports);
    const details = reports.reduce((sum, report) => sum + report.details, 0);
    const isWhole = reports.every((report) => report.broken === null);
    const stored = options.withDetails && isWhole ? await scan.countDetails(chain.chainId) : details;
    if (stored !== details) problems.push(`${nameOf(chain.owner)}: there are details that belong to no event`);
  }
  for (const chainId of scan.headless) problems.push(`the events of chain ${chainId} have no head`);
  const damaged = await damage;
  if (damaged !== null) problems.push(`the database itself did not pass its check: ${damaged}`);
  problems.push(...strangeAnchors(evidence, origins));
  return { chains: [...chains, ...lostChains(evidence, chains)], problems };
}

async function verifyStored(
  scan: AuditScan,
  chain: AuditScan['chains'][number],
  trees: readonly StoredTree[],
  evidence: Evidence,
  { withDetails, onRecord }: VerifyScanOptions,
  problems: string[],
): Promise<ChainReport[]> {
  const { chainId, owner } = chain;
  const verifier = new ChainVerifier({ ...chain, marks: await scan.marks(chainId), trees }, evidence, problems);
  const tiles = trees.map((tree) => new TileReader(tree, scan.tiles(tree, 0)));
  for await (const records of scan.events(chainId, withDetails)) {
    const last = Number(records.at(-1)?.event.sequence);
    for (const [at, reader] of tiles.entries())
      for await (const leaves of reader.through(last)) verifier.keep(at, leaves);
    for (const record of records) {
      verifier.add(record);
      onRecord?.(owner, record);
    }
  }
  const reports = verifier.finish();
  for (const [at, tree] of trees.entries()) {
    const found = await checkTiles(verifier.tileRoots(at), (level) => scan.tiles(tree, level));
    // For a part whose events do not verify, the tiles are not compared.
    if (found !== null && reports[at]?.broken === null) problems.push(`${nameOf(owner)}: ${found}`);
  }
  return reports;
}

/** Stored tiles of leaves, as far as the events have been read. */
class TileReader {
  readonly #first: number;
  readonly #tiles: AsyncIterator<ScannedTile>;
  #next: ScannedTile | null = null;
  #isEnded = false;

  constructor(tree: StoredTree, tiles: AsyncIterable<ScannedTile>) {
    this.#first = tree.first;
    this.#tiles = tiles[Symbol.asyncIterator]();
  }

  async *through(sequence: number): AsyncGenerator<KeptLeaves> {
    while (!this.#isEnded) {
      if (this.#next === null) {
        const read = await this.#tiles.next();
        if (read.done === true) this.#isEnded = true;
        else this.#next = read.value;
        continue;
      }
      const from = this.#next.tile * tileWidth;
      if (this.#first + from > sequence) return;
      yield { from, hashes: splitHashes(this.#next.hashes) };
      this.#next = null;
    }
  }
}

/** Checks the stored tiles against these roots of full leaf tiles; returns the problem, or null. */
async function checkTiles(
  leafRoots: readonly Uint8Array[],
  tilesOf: (level: number) => AsyncIterable<ScannedTile>,
): Promise<string | null> {
  let roots = leafRoots;
  for (let level = 0; roots.length > 0; level++) {
    for await (const { tile, width, root, hashes } of tilesOf(level)) {
      const below = splitHashes(hashes);
      const isOwn = below.length === width && sameBytes(root, rootOver(below));
      const expected = width === tileWidth ? roots[tile] : undefined;
      if (!isOwn || (expected !== undefined && !sameBytes(root, expected)))
        return `tile ${tile} of level ${level} of its tree is not what its hashes give`;
    }
    const full = Math.floor(roots.length / tileWidth);
    const below = roots;
    roots = Array.from({ length: full }, (_, tile) => rootOver(below.slice(tile * tileWidth, (tile + 1) * tileWidth)));
  }
  return null;
}

/**
 * The newest published head of a log, null without one. Cosigned by each of these witnesses it counts like an anchor, because nobody here
 * can forge it. One without a required cosignature is a problem.
 */
export async function cosignedRoots(
  name: string,
  checkpoint: string | null,
  witnesses: readonly Verifier[],
  problems: string[],
): Promise<RootAnchor[]> {
  if (witnesses.length === 0) return [];
  const note = checkpoint === null ? null : parseNote(checkpoint);
  for (const witness of witnesses)
    if (note === null || (await cosignedAt(note, witness, nodeCryptography)) === null)
      problems.push(`no head of ${name} that is kept here is cosigned by ${witness.name}`);
  return note === null ? [] : rootOf(formatNote(note), true);
}

/** Anchors of unknown logs. */
export function strangeAnchors({ roots }: Evidence, origins: ReadonlySet<string>): string[] {
  return roots
    .filter(({ origin, external }) => external && !origins.has(origin))
    .map(({ origin }) => `the anchor is of ${origin}, which is not a log of this site`);
}

/** Chains known only from an anchor. */
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
