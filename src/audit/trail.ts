/**
 * The audit trail of one data dir [audit §6]: its log, search, checkpoints and retention, with the key
 * that signs both. This key differs from the one that signs tokens: permission to issue tokens must not allow signing the
 * log.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { readIfThere, readOrMake } from '../base/own-file.ts';
import type { Database } from '../storage/database.ts';
import type { RetentionTime } from '../storage/retention-clock.ts';
import { type Break, Breaks } from './breaks.ts';
import { Checkpointer } from './checkpoints.ts';
import type { AuditScope } from './event.ts';
import { FullCheck } from './full-check.ts';
import type { AuditLimits } from './limits.ts';
import { type AccessLog, type AuditLog, createAccessLog, createAuditLog } from './log.ts';
import { OpenRecords } from './open-records.ts';
import { AuditProofs } from './proofs.ts';
import { createRetention } from './retention.ts';
import { createAuditSearch, type EventSearch } from './search.ts';
import { type AuditKey, keyName } from './statement.ts';
import { LogTrees } from './tree/log-trees.ts';
import { witnessAsker } from './witness/ask-witness.ts';
import { PublishedHeads } from './witness/published-heads.ts';
import { type ConfiguredWitness, type SilentWitness, Witnesses } from './witness/witnesses.ts';

export interface AuditTrail {
  readonly log: AuditLog;
  readonly access: AccessLog;
  readonly search: EventSearch;
  readonly proofs: AuditProofs;
  /** Known breaks of the chains. */
  breaks(): readonly Break[];
  /** Witnesses that do not cosign what this process signs. */
  silentWitnesses(): readonly SilentWitness[];
  /** Signs the last checkpoints; nothing may be appended afterwards. */
  close(): Promise<void>;
}

/** Files in the data dir that the audit needs besides the database. */
export function auditFiles(dataFolder: string): { readonly key: string; readonly checkpoints: string } {
  return { key: join(dataFolder, 'audit-key.pem'), checkpoints: join(dataFolder, 'audit-checkpoints.jsonl') };
}

/** Reads the key that signs checkpoints and marks, or creates one for a data dir without checkpoints. */
export function auditKey(dataFolder: string): AuditKey {
  const { key, checkpoints } = auditFiles(dataFolder);
  if (readIfThere(key) === null && (readIfThere(checkpoints) ?? '') !== '')
    throw new Error(
      'audit-key.pem is missing beside audit-checkpoints.jsonl: restore it from a backup. To go on without it, move ' +
        'audit-checkpoints.jsonl away; this data dir then has no proof for the events it covers',
    );
  const pem = readOrMake(key, () =>
    generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  );
  return auditKeyOf(pem);
}

export function auditKeyOf(pem: string): AuditKey {
  try {
    const privateKey = createPrivateKey(pem);
    return { privateKey, publicKey: createPublicKey(privateKey) };
  } catch {
    throw new Error('audit-key.pem in the data dir is damaged: restore it from a backup');
  }
}

/** Opens the trail and closes records that a crash left open. */
export async function openAuditTrail(parts: {
  readonly database: Database;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: AuditLimits;
  readonly scope: AuditScope;
  /** By which retention removes old events. */
  readonly retention: RetentionTime;
  readonly key: AuditKey;
  /** The prefix of its logs' names. */
  readonly origin: string;
  readonly witnesses: readonly ConfiguredWitness[];
  /** Number of cosignatures that a checkpoint needs before it is published. */
  readonly required: number;
  /** For this time, accepted records are left to other processes that write to this trail. Null without other processes. */
  readonly sharedForMs: number | null;
}): Promise<AuditTrail> {
  const { limits, log, database, clock } = parts;
  const breaks = new Breaks();
  const trees = new LogTrees(parts);
  const verifiers = parts.witnesses.map(({ verifier }) => verifier);
  const published = new PublishedHeads({ ...parts, witnesses: verifiers });
  const ask = witnessAsker(clock, limits.witness_timeout_ms);
  const witnesses = new Witnesses({ ...parts, breaks, published, ask });
  const file = auditFiles(parts.dataFolder).checkpoints;
  const checkpointer = new Checkpointer({ ...parts, breaks, trees, witnesses, file });
  const retention = createRetention({ ...parts, checkpointer });
  const own = keyName(parts.key.publicKey);
  const fullCheck = new FullCheck({ ...parts, breaks, key: own, heads: () => checkpointer.heads() });
  const store = { database, clock, limits, onAppended: (events: number) => checkpointer.appended(events) };
  const audit = createAuditLog({ ...store, scope: parts.scope });
  const openRecords = new OpenRecords({ ...store, log, scope: parts.scope, sharedForMs: parts.sharedForMs });
  await openRecords.open();
  checkpointer.open();
  retention.open();
  fullCheck.open();
  return {
    log: audit,
    access: createAccessLog({
      ...store,
      onAppended(events) {
        checkpointer.appended(events);
        retention.appended(events);
      },
    }),
    breaks: () => breaks.list(),
    silentWitnesses: () => witnesses.silent(),
    proofs: new AuditProofs({ database, clock, trees, published, checkpointer }),
    search: createAuditSearch({ database, clock, scanWindow: limits.scan_window }),
    async close() {
      await openRecords.close();
      await fullCheck.close();
      await retention.close();
      await checkpointer.close();
      await witnesses.close();
    },
  };
}
