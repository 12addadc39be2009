/**
 * The export ([audit §7]; docs/formats/audit.md): JSON Lines with every event, its details and its hashes, the
 * marks and the checkpoints, so that it can be verified without the database.
 */
import Type, { type Static } from 'typebox';
import { decoder } from '../base/decode.ts';
import { strict } from '../base/schema.ts';
import { fromBase64, toBase64 } from '../transparency/base64.ts';
import type { Verifier } from '../transparency/signed-note.ts';
import { type Evidence, gatherEvidence } from './evidence.ts';
import { exportInstructions } from './export-instructions.ts';
import { LineNumbers } from './line-numbers.ts';
import { type ChainedEvent, nameOf } from './store/chain.ts';
import type { ChainRecord, ChainReport } from './store/chain-walk.ts';
import type { AuditScan } from './store/scan.ts';
import { splitHashes, tileWidth } from './tree/tree-proofs.ts';
import type { StoredTree } from './tree/tree-store.ts';
import { cosignedRoots, lostChains, strangeAnchors, type TrailReport } from './verify.ts';
import { ChainVerifier } from './verify-chain.ts';

const text = Type.String();
const nullable = Type.Union([Type.String(), Type.Null()]);
const sequence = Type.String({ pattern: '^(0|[1-9][0-9]{0,15})$' });

const headerSchema = strict({
  type: Type.Literal('export'),
  schema: Type.Enum(['svc.audit-export.v1', 'svc.audit-export.v2']),
  exportedAt: text,
  key: nullable,
  /** From version 2, for people; not verified. */
  instructions: Type.Optional(Type.Array(text)),
});
const checkpointSchema = strict({ type: Type.Literal('checkpoint'), line: text });
const chainSchema = strict({
  type: Type.Literal('chain'),
  log: Type.Enum(['events', 'access']),
  tenantId: text,
  projectId: text,
  sequence,
  hash: text,
  marks: Type.Array(strict({ auditedBy: Type.Integer(), mark: text })),
  /** From version 2: the logs that the chain was signed as, oldest first, each with its newest published checkpoint. */
  trees: Type.Optional(Type.Array(strict({ origin: text, first: Type.Integer({ minimum: 1 }), checkpoint: nullable }))),
});
/** From version 2: leaf hashes of events that retention removed, as base64. */
const leavesSchema = strict({ type: Type.Literal('leaves'), tree: Type.Integer(), from: Type.Integer(), hashes: text });
const eventSchema = strict({
  type: Type.Literal('event'),
  sequence,
  eventId: text,
  occurredAt: text,
  subject: strict({ kind: text, subjectId: text }),
  action: text,
  resource: strict({ kind: text, resourceId: text }),
  outcome: text,
  risk: text,
  confirmation: text,
  correlationId: text,
  traceId: Type.Optional(text),
  detailsDigest: Type.Optional(text),
  acceptedEventId: Type.Optional(text),
  previous: text,
  hash: text,
  /** The canonical JSON whose SHA-256 is `detailsDigest`, byte for byte. */
  details: Type.Optional(text),
});
const endSchema = strict({ type: Type.Literal('end'), events: Type.Integer() });
type EventLine = Static<typeof eventSchema>;

export async function* exportLines(
  scan: AuditScan,
  facts: { readonly exportedAt: string; readonly key: string | null; readonly checkpoints: string | null },
): AsyncGenerator<string> {
  const line = (value: object): string => `${lineOf(value)}
`;
  let events = 0;
  const { exportedAt, key } = facts;
  yield line({
    type: 'export',
    schema: 'svc.audit-export.v2',
    exportedAt,
    key,
    instructions: exportInstructions,
  });
  for (const checkpoint of (facts.checkpoints ?? '').split('\n'))
    if (checkpoint.trim() !== '') yield line({ type: 'checkpoint', line: checkpoint });
  for (const { chainId, owner, sequence: last, hash } of scan.chains) {
    const { log, tenantId, projectId } = owner;
    const trees = await scan.trees(chainId);
    const named = await Promise.all(
      trees.map(async (tree) => ({ origin: tree.origin, first: tree.first, checkpoint: await scan.cosigned(tree) })),
    );
    const marks = await scan.marks(chainId);
    yield line({ type: 'chain', log, tenantId, projectId, sequence: String(last), hash, marks, trees: named });
    let isFirst = true;
    for await (const records of scan.events(chainId, true)) {
      if (isFirst) for await (const leaves of removedLeaves(scan, trees, records[0])) yield line(leaves);
      isFirst = false;
      events += records.length;
      for (const record of records) yield line(eventLine(record));
    }
  }
  yield line({ type: 'end', events });
}

/** Hashes of events that retention removed: without them the other events could not be shown to be in the tree. */
async function* removedLeaves(
  scan: AuditScan,
  trees: readonly StoredTree[],
  oldest: ChainRecord | undefined,
): AsyncGenerator<Static<typeof leavesSchema>> {
  for (const [tree, stored] of trees.entries())
    for await (const { tile, hashes } of scan.tiles(stored, 0)) {
      const from = tile * tileWidth;
      if (oldest === undefined || stored.first + from >= Number(oldest.event.sequence)) break;
      yield { type: 'leaves', tree, from, hashes: toBase64(hashes) };
    }
}

/** JSON that every reader treats as one line: some end a line at these characters too. */
function lineOf(value: unknown): string {
  return JSON.stringify(value).replace(lineEnds, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
const lineEnds = /[\u0085\u2028\u2029]/g;

function eventLine({ event, hash, details }: ChainRecord): EventLine {
  return {
    type: 'event',
    sequence: event.sequence,
    eventId: event.eventId,
    occurredAt: event.occurredAt,
    subject: { kind: event.subjectKind, subjectId: event.subjectId },
    action: event.action,
    resource: { kind: event.resourceKind, resourceId: event.resourceId },
    outcome: event.outcome,
    risk: event.risk,
    confirmation: event.confirmation,
    correlationId: event.correlationId,
    ...(event.traceId === null ? {} : { traceId: event.traceId }),
    ...(event.detailsDigest === null ? {} : { detailsDigest: event.detailsDigest }),
    ...(event.acceptedEventId === null ? {} : { acceptedEventId: event.acceptedEventId }),
    previous: event.previous,
    hash,
    ...(details === null || details === undefined ? {} : { details }),
  };
}

function recordOf(line: EventLine): ChainRecord {
  const event: ChainedEvent = {
    sequence: line.sequence,
    eventId: line.eventId,
    occurredAt: line.occurredAt,
    subjectKind: line.subject.kind,
    subjectId: line.subject.subjectId,
    action: line.action,
    resourceKind: line.resource.kind,
    resourceId: line.resource.resourceId,
    outcome: line.outcome,
    risk: line.risk,
    confirmation: line.confirmation,
    correlationId: line.correlationId,
    traceId: line.traceId ?? null,
    detailsDigest: line.detailsDigest ?? null,
    acceptedEventId: line.acceptedEventId ?? null,
    previous: line.previous,
  };
  return { event, hash: line.hash, details: line.details ?? null, era: undefined };
}

const decodeLine = decoder(
  Type.Union([headerSchema, checkpointSchema, chainSchema, leavesSchema, eventSchema, endSchema]),
);

/** The verifier's own evidence for an export. */
interface GivenEvidence {
  readonly keys: readonly string[];
  readonly anchor: string | null;
  /** Each must have cosigned the newest head that is in the export. */
  readonly witnesses: readonly Verifier[];
}

export interface ExportVerifier {
  /** One after the other: the next line when this one has been processed. */
  line(text: string): Promise<void>;
  finish(): TrailReport;
}

/** Processes an export line by line, so that any size is verified in constant memory. */
export function verifyExport(given: GivenEvidence): ExportVerifier {
  return new LineVerifier(given);
}

class LineVerifier implements ExportVerifier {
  readonly #given: GivenEvidence;
  readonly #problems: string[] = [];
  readonly #wrong = {
    'not part of an export': new LineNumbers(),
    'events of no chain': new LineNumbers(),
    'no hashes of a chain': new LineNumbers(),
  };
  readonly #chains: ChainReport[] = [];
  readonly #checkpoints: string[] = [];
  #header: Static<typeof headerSchema> | null = null;
  #evidence: Evidence | null = null;
  #open: ChainVerifier | null = null;
  #events = 0;
  #lines = 0;
  #ended = false;
  readonly #origins = new Set<string>();

  constructor(given: GivenEvidence) {
    this.#given = given;
  }

  async line(textOfLine: string): Promise<void> {
    this.#lines++;
    const value = parsedLine(textOfLine);
    if (value === null || this.#ended || (this.#lines === 1) !== (value.type === 'export')) {
      this.#wrong['not part of an export'].add(this.#lines);
      return;
    }
    if (value.type === 'export') this.#header = value;
    else if (value.type === 'checkpoint') this.#checkpoints.push(value.line);
    else if (value.type === 'chain') await this.#begin(value);
    else if (value.type === 'leaves') this.#keep(value);
    else if (value.type === 'end') {
      this.#ended = true;
      if (value.events !== this.#events)
        this.#problems.push(`the export has ${this.#events} events, its end says ${value.events}`);
    } else {
      this.#events++;
      if (this.#open === null) this.#wrong['events of no chain'].add(this.#lines);
      else this.#open.add(recordOf(value));
    }
  }

  finish(): TrailReport {
    this.#close();
    if (!this.#ended) this.#problems.push('the export has no end: it was cut');
    const found = this.#gather();
    const wrong = Object.entries(this.#wrong).flatMap(([what, lines]) => {
      const text = lines.text();
      return text === null ? [] : [`${what}: ${text}`];
    });
    return {
      chains: [...this.#chains, ...lostChains(found, this.#chains)],
      problems: [...found.problems, ...this.#problems, ...wrong, ...strangeAnchors(found, this.#origins)],
    };
  }

  #gather(): Evidence {
    return (this.#evidence ??= gatherEvidence({
      ...this.#given,
      checkpoints: this.#checkpoints.join('\n'),
      ownKey: this.#header?.key ?? null,
    }));
  }

  #close(): void {
    if (this.#open !== null) this.#chains.push(...this.#open.finish());
    this.#open = null;
  }

  async #begin(chain: Static<typeof chainSchema>): Promise<void> {
    this.#close();
    const { log, tenantId, projectId } = chain;
    const owner = { log, tenantId, projectId };
    const { trees = [] } = chain;
    for (const { origin } of trees) this.#origins.add(origin);
    const head = { sequence: Number(chain.sequence), hash: chain.hash };
    const verified = { owner, ...head, marks: chain.marks, trees };
    const last = trees.at(-1);
    const name = last?.origin ?? nameOf(owner);
    const cosigned = await cosignedRoots(name, last?.checkpoint ?? null, this.#given.witnesses, this.#problems);
    const evidence = this.#gather();
    this.#open = new ChainVerifier(verified, { ...evidence, roots: [...evidence.roots, ...cosigned] }, this.#problems);
  }

  #keep({ tree, from, hashes }: Static<typeof leavesSchema>): void {
    const bytes = fromBase64(hashes);
    if (bytes === null || this.#open === null) this.#wrong['no hashes of a chain'].add(this.#lines);
    else this.#open.keep(tree, { from, hashes: splitHashes(bytes) });
  }
}

function parsedLine(line: string) {
  try {
    const value: unknown = JSON.parse(line);
    // Byte for byte the exported form: with a duplicate member, two readers could see different values.
    if (lineOf(value) !== line) return null;
    const decoded = decodeLine(value);
    return decoded.ok ? decoded.value : null;
  } catch {
    return null;
  }
}
