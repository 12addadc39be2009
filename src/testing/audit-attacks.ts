/**
 * Seeded attacks on an audit trail by an attacker with the database, the data directory and every key of the site, but without the witness
 * [audit §9.6]; and seeded honest histories, with crashes, torn files and retention, which verification must accept.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gatherEvidence } from '../audit/evidence.ts';
import { type AuditLimits, auditLimits } from '../audit/limits.ts';
import { createAuditLog } from '../audit/log.ts';
import { createRetention } from '../audit/retention.ts';
import { type AuditKey, keyName } from '../audit/statement.ts';
import type { AuditLogName } from '../audit/store/chain.ts';
import { scanAudit } from '../audit/store/scan.ts';
import { auditFiles } from '../audit/trail.ts';
import { originOf } from '../audit/tree/log-trees.ts';
import { type TrailReport, trailHolds, verifyScan } from '../audit/verify.ts';
import type { AskWitness } from '../audit/witness/ask-witness.ts';
import type { ConfiguredWitness } from '../audit/witness/witnesses.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import { sha256Hex } from '../base/digest.ts';
import { silentLog } from '../base/log.ts';
import { SeededStream } from '../base/seeded.ts';
import { siteSchema } from '../databases/schemas.ts';
import { parseWhole } from '../transparency/checkpoint.ts';
import { cosigner, noteSigner } from '../transparency/signing.ts';
import { Witness } from '../witness/witness.ts';
import { WitnessState } from '../witness/witness-state.ts';
import {
  eventRows,
  forgeRetention,
  hideFromIndex,
  type OlderCopy,
  olderCopyOf,
  type Row,
  rowAt,
  storeAll,
} from './audit-forgery.ts';
import {
  auditEntry,
  fillTrail,
  type TestTrail,
  testAuditKey,
  testOrigin,
  testScope,
  testSigner,
  testTrail,
} from './audit-trail.ts';
import type { DatabaseEngine } from './engines.ts';

const owner = { log: 'events', ...testScope } as const;
const origin = originOf(testOrigin, owner);
const dayMs = 86_400_000;

/** A trail with a witness beside it, to which nobody at the site can write. */
class WitnessedTrail {
  readonly trail: TestTrail;
  readonly key: AuditKey;
  readonly #witness: Witness;
  readonly #state: WitnessState;
  readonly #policy: readonly ConfiguredWitness[];

  private constructor(
    trail: TestTrail,
    key: AuditKey,
    witness: Witness,
    state: WitnessState,
    policy: readonly ConfiguredWitness[],
  ) {
    this.trail = trail;
    this.key = key;
    this.#witness = witness;
    this.#state = state;
    this.#policy = policy;
  }

  static async make(engine: DatabaseEngine): Promise<WitnessedTrail> {
    const trail = await testTrail(engine);
    const key = testAuditKey();
    const state = new WitnessState(join(trail.folder, 'witness.json'));
    const own = await cosigner('witness', state.keys);
    const log = (await noteSigner(origin, key)).verifier;
    const witness = new Witness(state, own, [log], trail.clock);
    return new WitnessedTrail(trail, key, witness, state, [
      { url: new URL('http://127.0.0.1/'), verifier: own.verifier },
    ]);
  }

  get policy(): readonly ConfiguredWitness[] {
    return this.#policy;
  }

  readonly #ask: AskWitness = async (_, submission) => {
    const { status, body } = await this.#witness.addCheckpoint(submission);
    if (status === 200) return { kind: 'cosigned', lines: body.trimEnd().split('\n') };
    if (status === 422) return { kind: 'refused' };
    const size = status === 409 ? parseWhole(body.trimEnd()) : null;
    return size === null ? { kind: 'failed', reason: `status ${status}` } : { kind: 'other-size', size };
  };

  signer(limits: AuditLimits = auditLimits) {
    return testSigner(this.trail, { key: this.key, limits, witnesses: this.policy, required: 1, ask: this.#ask });
  }

  /** Signs the current head, and waits until the witness has seen it. */
  async cover(from = this.signer()): Promise<void> {
    await from.checkpointer.cover(owner);
    for (let turn = 0; turn < 1000; turn++) {
      const head = await from.proofs.checkpoint(testScope, 'events').catch(() => null);
      if (head !== null && head.size === from.checkpointer.signedSize(owner)) return;
      await new Promise<void>((resolve) => this.trail.clock.soon(resolve));
    }
    throw new Error(`the witness did not cosign: ${JSON.stringify(from.breaks.list())}`);
  }

  /** The witness's own copy. */
  witnessed(): string {
    const note = this.#state.note(origin);
    if (note === null) throw new Error('the witness saw nothing');
    return note;
  }

  async verify(anchor: string | null): Promise<TrailReport> {
    const file = auditFiles(this.trail.folder).checkpoints;
    const checkpoints = existsSync(file) ? readFileSync(file, 'utf8') : null;
    const scan = await scanAudit(this.trail.place, siteSchema);
    try {
      const evidence = gatherEvidence({ keys: [], anchor, checkpoints, ownKey: keyName(this.key.publicKey) });
      return await verifyScan(scan, evidence, { withDetails: true });
    } finally {
      await scan.close();
    }
  }
}

export interface Attacked {
  readonly attack: string;
  /** Everything at the site is consistent: only the witness can reveal the edit. */
  readonly isWhole: boolean;
  readonly good: boolean;
  /** The report of the verification. */
  readonly told: string;
  /** The report without the witness: empty when the forgery is complete. */
  readonly toldAlone: string;
}

function toldOf({ chains, problems }: TrailReport): string {
  const broken = chains.flatMap((chain) =>
    chain.broken === null || chain.acknowledgedBy !== null
      ? []
      : [
          `${chain.owner.log} BROKEN at sequence ${chain.broken.sequence} (${chain.broken.kind}): ${chain.broken.reason}`,
        ],
  );
  return [...broken, ...problems].join('\n');
}

export async function attackedTrail(seed: number, engine: DatabaseEngine): Promise<Attacked> {
  const stream = new SeededStream(seed * 7919 + 13);
  const own = await WitnessedTrail.make(engine);
  try {
    await fillTrail(own.trail, 5 + stream.below(stream.below(4) === 0 ? 700 : 60));
    await own.cover();
    const before = await olderCopyOf(own.trail);
    own.trail.clock.setWall(own.trail.clock.wallMs() + 1000);
    await fillTrail(own.trail, 2 + stream.below(40));
    await own.cover();
    const anchor = own.witnessed();
    const covered = (await eventRows(own.trail)).length;
    if (stream.below(2) === 0) await fillTrail(own.trail, 1 + stream.below(10));
    const attack = attacks[seed % attacks.length];
    if (attack === undefined) throw new Error('there is no such attack');
    await attack.carryOut({ own, stream, at: stream.below(covered - 1), before });
    const report = await own.verify(anchor);
    const toldAlone = toldOf(await own.verify(null));
    return {
      attack: attack.name,
      isWhole: attack.isWhole === true,
      good: trailHolds(report),
      told: toldOf(report),
      toldAlone,
    };
  } finally {
    await own.trail.close();
  }
}

interface Attack {
  readonly name: string;
  readonly isWhole?: true;
  carryOut(at: {
    readonly own: WitnessedTrail;
    readonly stream: SeededStream;
    /** Position of an event that the witnessed head covers, together with the next one. */
    readonly at: number;
    /** The data directory as of some events ago. */
    readonly before: OlderCopy;
  }): Promise<void> | void;
}

/** Rewrites the events, and everything derived from them, as if they had always been so. */
const rewriting = (name: string, change: (rows: Row[], at: number, stream: SeededStream) => void): Attack => ({
  name,
  isWhole: true,
  async carryOut({ own, at, stream }) {
    const rows = await eventRows(own.trail);
    change(rows, at, stream);
    await storeAll(own, rows);
  },
});

const attacks: readonly Attack[] = [
  rewriting('edit an event and sign everything anew', (rows, at) => {
    rows[at] = { ...rowAt(rows, at), subject_id: 'eve' };
  }),
  rewriting('delete an event and sign everything anew', (rows, at) => rows.splice(at, 1)),
  rewriting('insert an event and sign everything anew', (rows, at, stream) => {
    rows.splice(at, 0, { ...rowAt(rows, at), event_id: `inserted-${stream.below(1e9)}` });
  }),
  rewriting('reorder two events and sign everything anew', (rows, at) => {
    const [first, second] = [rowAt(rows, at), rowAt(rows, at + 1)];
    const timeOf = ({ occurred_at, era }: Row) => ({ occurred_at, era });
    rows.splice(at, 2, { ...second, ...timeOf(first) }, { ...first, ...timeOf(second) });
  }),
  rewriting('rewrite the whole log with stolen keys', (rows) => {
    for (const [at, row] of rows.entries()) rows[at] = { ...row, action: 'automation.rule.update' };
  }),
  rewriting('cut the end behind the witnessed head', (rows, at) => {
    rows.length = 1 + at;
  }),
  {
    name: 'edit a column',
    carryOut: ({ own, at, stream }) => {
      const column =
        ['subject_id', 'action', 'outcome', 'resource_id', 'correlation_id', 'hash'][stream.below(6)] ?? '';
      return own.trail.tamper(`UPDATE audit_event SET ${column} = ${column} || 'x' WHERE sequence = ${at + 1}`);
    },
  },
  {
    name: 'delete a row',
    carryOut: ({ own, at }) => {
      return own.trail.tamper(
        `DELETE FROM audit_details WHERE sequence = ${at + 1}; DELETE FROM audit_event WHERE sequence = ${at + 1}`,
      );
    },
  },
  {
    name: 'edit the details of an event',
    carryOut: ({ own, at }) => {
      return own.trail.tamper(`UPDATE audit_details SET details = '{}' WHERE sequence = ${at + 1}`);
    },
  },
  {
    name: 'give the events to another scope',
    carryOut: ({ own }) =>
      own.trail.tamper(`UPDATE audit_chain SET tenant_id = 'tenant-2';
        UPDATE audit_tree SET origin = replace(origin, 'tenant-1', 'tenant-2')`),
  },
  {
    name: 'swap the events of two logs',
    async carryOut({ own }) {
      await fillTrail(own.trail, 60, 'access');
      await own.trail.tamper(`UPDATE audit_chain SET log = 'swapped' WHERE false;
        UPDATE audit_event SET chain_id = 9 WHERE chain_id = 1; UPDATE audit_event SET chain_id = 1 WHERE chain_id = 2;
        UPDATE audit_event SET chain_id = 2 WHERE chain_id = 9`);
    },
  },
  {
    name: 'put an older copy of the data dir back',
    isWhole: true,
    carryOut: ({ before }) => before.putBack(),
  },
  {
    name: 'fork: go on from an older copy',
    isWhole: true,
    async carryOut({ own, stream, before }) {
      await before.putBack();
      own.trail.clock.setWall(own.trail.clock.wallMs() + 5000);
      await fillTrail(own.trail, 60 + stream.below(20));
      await testSigner(own.trail, { key: own.key }).checkpointer.cover(owner);
    },
  },
  {
    name: 'forge a retention mark with the stolen key',
    isWhole: true,
    carryOut: ({ own, at }) => forgeRetention(own, at),
  },
  {
    name: 'hide an event from an index',
    carryOut: ({ own, at }) => hideFromIndex(own.trail, 'audit_event_subject', at + 1),
  },
  {
    name: 'take the log away altogether',
    carryOut: ({ own }) =>
      own.trail.tamper(`DELETE FROM audit_details; DELETE FROM audit_event; DELETE FROM audit_chain; DELETE FROM audit_tile;
        DELETE FROM audit_tree; DELETE FROM audit_cosigned`),
  },
  {
    name: 'begin a new tree without a word',
    async carryOut({ own }) {
      const rows = await eventRows(own.trail);
      await own.trail.tamper(
        `UPDATE audit_event SET action = 'x.y' WHERE sequence = 2;
         INSERT INTO audit_tree VALUES (1, 2, '${origin}/2', ${rows.length})`,
      );
    },
  },
  {
    name: 'acknowledge away what the witness saw',
    isWhole: true,
    async carryOut({ own, at }) {
      const rows = await eventRows(own.trail);
      rows[at] = { ...rowAt(rows, at), subject_id: 'eve' };
      const details = canonicalJson({ reason: 'nothing to see here' });
      const last = rowAt(rows, rows.length - 1);
      rows.push({
        ...last,
        event_id: 'acknowledged',
        action: 'audit.chain.acknowledge-break',
        details_digest: sha256Hex(details),
      });
      await storeAll(own, rows);
      await own.trail.tamper(`INSERT INTO audit_tree VALUES (1, 2, '${origin}/2', ${rows.length});
        DELETE FROM audit_details WHERE sequence = ${rows.length};
        INSERT INTO audit_details VALUES (1, ${rows.length}, '${details}')`);
    },
  },
];

/** The problems that verification reports for an honest history, which should be none. */
export async function honestTrail(seed: number, engine: DatabaseEngine): Promise<string> {
  const stream = new SeededStream(seed * 104_729 + 5);
  const own = await WitnessedTrail.make(engine);
  const { trail, key } = own;
  const limits = { ...auditLimits, retention_days: 5, retention_batch: 1 + stream.below(50) };
  let signer = own.signer(limits);
  try {
    await fillClosed(trail, 1 + stream.below(20));
    await own.cover(signer);
    for (let step = 0; step < 6; step++) {
      const what = stream.below(6);
      if (what <= 1) await fillClosed(trail, 1 + stream.below(stream.below(5) === 0 ? 300 : 30));
      else if (what === 2) await own.cover(signer);
      else if (what === 3) signer = restarted(own, stream, limits);
      else if (what === 4) {
        trail.clock.setWall(trail.clock.wallMs() + stream.below(10) * dayMs);
        const parts = { ...trail, log: silentLog, limits, key, checkpointer: signer.checkpointer };
        await createRetention(parts).sweep();
      } else await fillTrail(trail, 1 + stream.below(10), 'access' satisfies AuditLogName);
    }
    await own.cover(signer);
    const anchor = own.witnessed();
    await fillClosed(trail, stream.below(10));
    return (
      toldOf(await own.verify(anchor)) +
      signer.breaks
        .list()
        .map(({ reason }) => reason)
        .join()
    );
  } finally {
    await trail.close();
  }
}

/** A process that is killed, at worst in the middle of a line, and starts again. */
function restarted(
  own: WitnessedTrail,
  stream: SeededStream,
  limits: AuditLimits,
): ReturnType<WitnessedTrail['signer']> {
  const file = auditFiles(own.trail.folder).checkpoints;
  const last = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '';
  if (stream.below(2) === 0) appendFileSync(file, last.slice(0, 1 + stream.below(last.length)));
  const signer = own.signer(limits);
  signer.checkpointer.open();
  return signer;
}

async function fillClosed(trail: TestTrail, pairs: number): Promise<void> {
  const log = createAuditLog({ ...trail, scope: testScope });
  for (let pair = 0; pair < pairs; pair++) {
    const { eventId } = await log.append(auditEntry({ details: { pair } }));
    await log.append(auditEntry({ outcome: 'succeeded', acceptedEventId: eventId }));
  }
}
