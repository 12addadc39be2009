/** Checkpoints, proofs and witnesses of a stored trail [audit §9], on both engines, checked by an independent verifier. */

import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { siteSchema } from '../databases/schemas.ts';
import {
  auditEntry,
  fillTrail,
  type TestTrail,
  testAuditKey,
  testOrigin,
  testScope,
  testSigner,
  testTrail,
} from '../testing/audit-trail.ts';
import { engines } from '../testing/engines.ts';
import { fromBase64 } from '../transparency/base64.ts';
import { parseCheckpoint } from '../transparency/checkpoint.ts';
import { extendsTree } from '../transparency/merkle-proof.ts';
import { checkProof, parseProofFile } from '../transparency/proof-file.ts';
import { formatVerifier, isSignedBy } from '../transparency/signed-note.ts';
import { cosigner, nodeCryptography } from '../transparency/signing.ts';
import { serveWitness } from '../witness/serve-witness.ts';
import { Witness } from '../witness/witness.ts';
import { WitnessState } from '../witness/witness-state.ts';
import { acknowledgeBreak } from './acknowledge-break.ts';
import { auditLimits } from './limits.ts';
import { createAuditLog } from './log.ts';
import { closeOpenRecords } from './open-records.ts';
import { createRetention } from './retention.ts';
import { type AuditKey, keyName } from './statement.ts';
import { chainHead } from './store/chain-store.ts';
import { scanAudit } from './store/scan.ts';
import { originOf } from './tree/log-trees.ts';
import { treesOf } from './tree/tree-store.ts';
import { trailHolds, verifyScan } from './verify.ts';
import { witnessAsker } from './witness/ask-witness.ts';

const owner = { log: 'events', ...testScope } as const;
const origin = originOf(testOrigin, owner);

describe.each(engines)('audit proofs on %s', (engine) => {
  let trail: TestTrail;
  let key: AuditKey;
  const ends: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    trail = await testTrail(engine);
    key = testAuditKey();
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await trail.close();
  });

  const startWitness = async (name: string) => {
    const state = new WitnessState(join(trail.folder, `${name}.json`));
    const own = await cosigner(name, state.keys);
    const log = await testSigner(trail, { key }).trees.signer(origin);
    const listening = await serveWitness(
      new Witness(state, own, [log.verifier], systemClock),
      { host: '127.0.0.1', port: 0 },
      { clock: systemClock, log: silentLog },
    );
    ends.push(() => listening.close());
    return { url: new URL(`http://127.0.0.1:${listening.port}/`), verifier: own.verifier };
  };
  const check = async (
    file: string,
    hash: string | null = null,
    witnesses: Parameters<typeof checkProof>[1]['witnesses'] = [],
  ) => {
    const log = (await testSigner(trail, { key }).trees.signer(origin)).verifier;
    return checkProof(file, { log, witnesses, hash }, nodeCryptography);
  };
  const hashOf = async (sequence: number): Promise<string> => {
    const row = await trail.database.query
      .selectFrom('audit_event')
      .select('hash')
      .where('sequence', '=', sequence)
      .executeTakeFirstOrThrow();
    return row.hash;
  };

  test('[audit §9.4] each event has a proof that others can check, over several tiles', async () => {
    await fillTrail(trail, 1100);
    const { checkpointer, proofs } = testSigner(trail, { key });
    await checkpointer.cover(owner);
    for (const sequence of [1, 2, 255, 256, 257, 512, 1023, 1024, 1025, 1100]) {
      const file = await proofs.inclusion(testScope, sequence);
      const answer = await check(file, await hashOf(sequence));
      expect(answer).toMatchObject({ holds: true, index: sequence - 1, head: { origin, size: 1100 } });
      if (answer.holds) expect(JSON.parse(answer.text)).toMatchObject({ sequence: String(sequence) });
      expect(file.length).toBeLessThan(3 * 1024);
    }
    const other = await proofs.inclusion(testScope, 7);
    expect(await check(other, await hashOf(8))).toMatchObject({ holds: false });
    expect(await check(other.replace('index 6', 'index 7'))).toMatchObject({ holds: false });
  });

  test('[audit §9.4] a log is the beginning of its later self', async () => {
    await fillTrail(trail, 300);
    const { checkpointer, proofs } = testSigner(trail, { key });
    await checkpointer.cover(owner);
    const before = parseCheckpoint((await proofs.checkpoint(testScope, 'events')).note.text);
    await fillTrail(trail, 500);
    await checkpointer.cover(owner);
    const after = parseCheckpoint((await proofs.checkpoint(testScope, 'events')).note.text);
    const answer = await proofs.consistency(testScope, 'events', 300, null);
    expect(answer).toMatchObject({ from: '300', to: '800' });
    const proof = answer.proof.map((hash) => fromBase64(hash) ?? new Uint8Array());
    if (before === null || after === null) throw new Error('no heads');
    expect(await extendsTree(before, after, proof, nodeCryptography)).toBe(true);
    await expect(proofs.consistency(testScope, 'events', 801, null)).rejects.toMatchObject({ code: 'invalid-input' });
    await expect(proofs.consistency(testScope, 'events', 1, 801)).rejects.toMatchObject({ code: 'invalid-input' });
    expect(await proofs.consistency(testScope, 'events', 800, 800)).toEqual({ from: '800', to: '800', proof: [] });
  });

  test('[audit §9.1] a tree that two processes grow by turns is that of all events', async () => {
    const [one, other] = [testSigner(trail, { key }), testSigner(trail, { key })];
    let size = 0;
    // The first signer extends its tree in memory while nobody else signs, and reads from the store what others signed.
    for (const [by, count] of [
      [one, 100],
      [one, 700],
      [one, 30],
      [other, 500],
      [one, 300],
      [other, 10],
      [one, 257],
      // At the most hashes that a signer keeps of the tree, and one beyond.
      [one, 10_000],
      [one, 10_001],
    ] as const) {
      size += count;
      await fillTrail(trail, count);
      await by.checkpointer.cover(owner);
      expect(by.breaks.list()).toEqual([]);
      expect(by.checkpointer.signedSize(owner)).toBe(size);
    }
    for (const sequence of [1, 256, 801, 1330, 1641, 11_641, size]) {
      const answer = await check(await one.proofs.inclusion(testScope, sequence), await hashOf(sequence));
      expect(answer).toMatchObject({ holds: true, index: sequence - 1, head: { origin, size } });
    }
    const scan = await scanAudit(trail.place, siteSchema);
    try {
      const roots = [...one.checkpointer.heads(), ...other.checkpointer.heads()];
      const evidence = { anchors: [], roots, trusted: new Set([keyName(key.publicKey)]), problems: [] };
      expect(trailHolds(await verifyScan(scan, evidence, { withDetails: true }))).toBe(true);
    } finally {
      await scan.close();
    }
  });

  test('[audit §9.4] an event of now is covered by a checkpoint that the question brings about', async () => {
    const { proofs } = testSigner(trail, { key });
    await expect(proofs.checkpoint(testScope, 'events')).rejects.toMatchObject({ code: 'no-checkpoint', status: 404 });
    const { sequence, hash } = await createAuditLog({ ...trail, scope: testScope }).append(auditEntry());
    expect(await check(await proofs.inclusion(testScope, sequence), hash)).toMatchObject({ holds: true });
    await expect(proofs.inclusion(testScope, 2)).rejects.toMatchObject({ code: 'not-found' });
    await expect(proofs.inclusion({ tenantId: 'another', projectId: 'one' }, 1)).rejects.toMatchObject({
      code: 'not-found',
    });
  });

  test('[audit §9.2] a checkpoint names the log, is signed by the key of the data dir, and each log has its own', async () => {
    await fillTrail(trail, 3);
    await fillTrail(trail, 5, 'access');
    const { checkpointer, proofs, trees } = testSigner(trail, { key });
    await checkpointer.cover(owner);
    for (const [log, size] of [
      ['events', 3],
      ['access', 5],
    ] as const) {
      const { note } = await proofs.checkpoint(testScope, log);
      const { verifier } = await trees.signer(originOf(testOrigin, { ...owner, log }));
      expect(parseCheckpoint(note.text)).toMatchObject({ origin: `setpoint/test/tenant-1/project-1/${log}`, size });
      expect(await isSignedBy(note, verifier, nodeCryptography)).toBe(true);
      expect(formatVerifier(verifier)).toMatch(new RegExp(`^setpoint/test/tenant-1/project-1/${log}\\+[0-9a-f]{8}\\+`));
    }
    const long = (length: number) => () => originOf('x'.repeat(length), owner);
    const rest = '/tenant-1/project-1/events'.length;
    expect(long(255 - rest)()).toHaveLength(255);
    expect(long(256 - rest)).toThrow('longer than 255 bytes');
    expect(originOf('p', { log: 'events', tenantId: 'a b', projectId: 'c+d/é' })).toBe('p/a%20b/c%2Bd%2F%C3%A9/events');
  });

  test('[audit §9.1] retention removes events, never hashes: remaining events keep their proofs', async () => {
    await fillTrail(trail, 300);
    await trail.run(`UPDATE audit_chain SET closed_through = 0`);
    const { checkpointer, proofs } = testSigner(trail, { key });
    await checkpointer.cover(owner);
    const log = createAuditLog({ ...trail, scope: testScope });
    await closeOpenRecords({ ...trail, scope: testScope });
    trail.clock.setWall(trail.clock.wallMs() + 10 * 86_400_000);
    const { eventId } = await log.append(auditEntry());
    await log.append(auditEntry({ outcome: 'succeeded', acceptedEventId: eventId }));
    const limits = { ...auditLimits, retention_days: 5 };
    const removed = await createRetention({ ...trail, log: silentLog, limits, key, checkpointer }).sweep();
    expect(removed).toBe(600);
    await checkpointer.cover(owner);
    expect(await check(await proofs.inclusion(testScope, 602))).toMatchObject({ holds: true, head: { size: 603 } });
    // Another process, which has to read the whole log from the store.
    const fresh = testSigner(trail, { key });
    await fillTrail(trail, 500);
    await fresh.checkpointer.cover(owner);
    expect(await check(await fresh.proofs.inclusion(testScope, 700))).toMatchObject({
      holds: true,
      head: { size: 1103 },
    });
    await expect(fresh.proofs.inclusion(testScope, 5)).rejects.toMatchObject({ code: 'not-found' });
  });

  test('[audit §9.1] a log that lost events before it had a tree begins with the oldest that is left', async () => {
    await fillTrail(trail, 20);
    await trail.tamper('DELETE FROM audit_details WHERE sequence <= 12; DELETE FROM audit_event WHERE sequence <= 12');
    const { checkpointer, proofs } = testSigner(trail, { key });
    await checkpointer.cover(owner);
    const head = await chainHead(trail.database.query, owner);
    expect(await treesOf(trail.database.query, head?.chainId ?? 0)).toMatchObject([{ first: 13, segment: 1, origin }]);
    expect(await check(await proofs.inclusion(testScope, 13))).toMatchObject({
      holds: true,
      index: 0,
      head: { size: 8 },
    });
  });

  test('[audit §9.6] a head is published when enough witnesses cosigned it', async () => {
    await fillTrail(trail, 3);
    const witnesses = [await startWitness('w1'), await startWitness('w2')];
    const ask = witnessAsker(systemClock, 5000);
    const { checkpointer, proofs } = testSigner(trail, { key, clock: systemClock, witnesses, required: 2, ask });
    await checkpointer.cover(owner);
    const file = await proofs.inclusion(testScope, 2);
    const verifiers = witnesses.map(({ verifier }) => verifier);
    expect(await check(file, null, verifiers)).toMatchObject({
      holds: true,
      cosignatures: [{ name: 'w1' }, { name: 'w2' }],
    });
    expect(parseProofFile(file)?.checkpoint.signatures).toHaveLength(3);
    const stranger = (await cosigner('w3', generateKeyPairSync('ed25519'))).verifier;
    expect(await check(file, null, [stranger])).toMatchObject({
      holds: false,
      reason: 'the witness w3 did not cosign the checkpoint',
    });
    // A process that starts again learns from the witness which head it last saw.
    await fillTrail(trail, 400);
    const fresh = testSigner(trail, { key, clock: systemClock, witnesses, required: 2, ask });
    expect(await check(await fresh.proofs.inclusion(testScope, 403), null, verifiers)).toMatchObject({ holds: true });
    expect(fresh.breaks.list()).toEqual([]);
    // The current policy counts, not the one of that time.
    const stricter = testSigner(trail, { key, witnesses: [], required: 1 });
    await expect(stricter.proofs.checkpoint(testScope, 'events')).rejects.toMatchObject({ code: 'no-checkpoint' });
  });

  test('[audit §9.6] a witness that does not cosign is silent, with the reason, until it does', async () => {
    await fillTrail(trail, 3);
    const [one, two] = [await startWitness('w1'), await startWitness('w2')];
    const reached = witnessAsker(systemClock, 5000);
    let isAway = true;
    const ask: typeof reached = async (url, text) =>
      isAway && url === two.url ? { kind: 'failed', reason: 'no connection' } : reached(url, text);
    const signer = testSigner(trail, { key, clock: systemClock, witnesses: [one, two], ask });
    await signer.checkpointer.cover(owner);
    await expect.poll(() => signer.witnesses.silent()).toEqual([{ witness: 'w2', reason: 'no connection' }]);
    isAway = false;
    await expect.poll(() => signer.witnesses.silent()).toEqual([]);
  });

  test('[audit §9.4] without its cosignatures an event is not covered after 2 s, and says that it can be asked again', async () => {
    await fillTrail(trail, 3);
    const { proofs } = testSigner(trail, { key, clock: systemClock, required: 1 });
    await expect(proofs.inclusion(testScope, 1)).rejects.toMatchObject({
      code: 'not-covered-yet',
      status: 503,
      retryable: true,
    });
  });

  test('[audit §9.6] the witness shows that an older copy was put back, and that a log was forked', async () => {
    await fillTrail(trail, 10);
    const older = await trail.copy();
    ends.push(() => older.close());
    await fillTrail(trail, 10);
    const witnesses = [await startWitness('w1')];
    const given = { key, clock: systemClock, witnesses, ask: witnessAsker(systemClock, 5000) };
    const first = testSigner(trail, given);
    await first.checkpointer.cover(owner);
    await expect.poll(async () => (await first.proofs.checkpoint(testScope, 'events')).cosignatures).toHaveLength(1);
    const second = testSigner(older, given);
    await second.checkpointer.cover(owner);
    await expect
      .poll(() => second.breaks.list())
      .toMatchObject([{ origin, reason: 'the witness w1 saw 20 entries, the log has 10: an older copy was put back' }]);
    older.clock.setWall(older.clock.wallMs() + 1000);
    await fillTrail(older, 10);
    const third = testSigner(older, given);
    await third.checkpointer.cover(owner);
    await expect
      .poll(() => third.breaks.list())
      .toMatchObject([{ reason: expect.stringContaining('saw another head of the same size 20') }]);
    // No further checkpoint is signed until a person acknowledges the break: then the log gets another name.
    await fillTrail(older, 10);
    await third.checkpointer.cover(owner);
    expect(third.checkpointer.signedSize(owner)).toBe(20);
    const acknowledged = { reason: 'a restored backup', osUser: 'tester', broken: null };
    expect(await acknowledgeBreak(older, owner, acknowledged)).toEqual({ origin: `${origin}/2`, sequence: 31 });
    await third.checkpointer.cover(owner);
    expect(third.breaks.list()).toEqual([]);
    expect(third.checkpointer.signedSize(owner)).toBe(1);
    expect(await acknowledgeBreak(older, owner, acknowledged)).toEqual({ origin: `${origin}/3`, sequence: 32 });
  });

  test('[audit §9.6] a fork that grew beyond the size that the witness saw is refused by its proof', async () => {
    await fillTrail(trail, 10);
    const older = await trail.copy();
    ends.push(() => older.close());
    await fillTrail(trail, 10);
    const witnesses = [await startWitness('w1')];
    const given = { key, clock: systemClock, witnesses, ask: witnessAsker(systemClock, 5000) };
    const first = testSigner(trail, given);
    await first.checkpointer.cover(owner);
    await expect.poll(async () => (await first.proofs.checkpoint(testScope, 'events')).cosignatures).toHaveLength(1);
    older.clock.setWall(older.clock.wallMs() + 1000);
    await fillTrail(older, 30);
    const forked = testSigner(older, given);
    await forked.checkpointer.cover(owner);
    await expect
      .poll(() => forked.breaks.list())
      .toMatchObject([{ origin, reason: expect.stringContaining('saw another history') }]);
  });

  test('[audit §9.2] a tree that does not extend the last signed one is not signed', async () => {
    await fillTrail(trail, 600);
    const { checkpointer, breaks, proofs } = testSigner(trail, { key });
    await checkpointer.cover(owner);
    await trail.tamper(
      `UPDATE audit_tile SET hashes = (SELECT hashes FROM audit_tile WHERE tile = 1), root = (SELECT root FROM audit_tile WHERE tile = 1) WHERE tile = 0`,
    );
    await fillTrail(trail, 10);
    await checkpointer.cover(owner);
    expect(breaks.list()).toMatchObject([{ origin, sequence: 1, reason: expect.stringContaining('another root') }]);
    expect((await proofs.checkpoint(testScope, 'events')).size).toBe(600);
  });
});
