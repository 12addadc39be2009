/** A witness over HTTP [audit §9.6]: every answer of the protocol, and that what it saw cannot be taken back. */
import { generateKeyPairSync, hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { GrowingTree, leafHash } from '../audit/tree/tree-hash.ts';
import { TreeProofs } from '../audit/tree/tree-proofs.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { checkpointText } from '../transparency/checkpoint.ts';
import { cosignedAt } from '../transparency/cosignature.ts';
import { formatNote, parseNote, signatureOf } from '../transparency/signed-note.ts';
import { cosigner, nodeCryptography, noteSigner } from '../transparency/signing.ts';
import { formatSubmission } from '../transparency/submission.ts';
import { witnessLimits } from './limits.ts';
import { type ListeningWitness, serveWitness } from './serve-witness.ts';
import { Witness } from './witness.ts';
import { WitnessState } from './witness-state.ts';

const key = generateKeyPairSync('ed25519');
const origin = 'setpoint/plant/t/p/events';
const leaves = Array.from({ length: 40 }, (_, number) => leafHash(hash('sha256', `event ${number}`)));

function treeOf(size: number, own = leaves) {
  const tree = new GrowingTree();
  for (const leaf of own.slice(0, size)) tree.add(leaf);
  return {
    size,
    root: tree.root(),
    proofs: new TreeProofs(async (_, tile, width) => own.slice(tile * 256, tile * 256 + width), size),
  };
}

describe('a witness', () => {
  let folder: string;
  let listening: ListeningWitness;
  let clockMs: number;
  /** Of the end: turned by hand. */
  const ending = simulatedClock();

  const start = async (): Promise<void> => {
    const state = new WitnessState(join(folder, 'witness.json'));
    const log = await noteSigner(origin, key);
    const clock = { ...systemClock, wallMs: () => clockMs };
    const witness = new Witness(state, await cosigner('w.example', state.keys), [log.verifier], clock);
    listening = await serveWitness(witness, { host: '127.0.0.1', port: 0 }, { clock: ending, log: silentLog });
  };
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'setpoint-witness-'));
    clockMs = 1_800_000_000_000;
    await start();
  });
  afterEach(async () => {
    await listening.close();
    rmSync(folder, { recursive: true });
  });

  const post = (body: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${listening.port}/add-checkpoint`, { method: 'POST', body });
  const submit = async (old: number, size: number, own = leaves, by = key, name = origin): Promise<Response> => {
    const { root, proofs } = treeOf(size, own);
    const note = (await noteSigner(name, by)).sign(checkpointText({ origin: name, size, root }));
    const proof = old === 0 || old >= size ? [] : await proofs.consistency(old);
    return post(formatSubmission({ old, proof, note }));
  };
  const statuses = async (...asked: Promise<Response>[]): Promise<number[]> =>
    (await Promise.all(asked)).map((response) => response.status);

  test('`stopGraceMs`: a connection that asks nothing does not hold up the end', async () => {
    const socket = connect(listening.port, '127.0.0.1');
    await once(socket, 'connect');
    await submit(0, 7);
    const closed = once(socket, 'close');
    const ended = listening.close();
    ending.advance(witnessLimits.stopGraceMs - 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(socket.destroyed).toBe(false);
    ending.advance(1);
    await Promise.all([ended, closed]);
    await start();
  });

  test('[audit §9.6] cosigns a log that grows, and again when it does not', async () => {
    const answer = await submit(0, 7);
    expect(answer.status).toBe(200);
    const line = (await answer.text()).trimEnd();
    const signature = signatureOf(line);
    if (signature === null) throw new Error('no signature');
    const witness = await cosigner('w.example', new WitnessState(join(folder, 'witness.json')).keys);
    const note = { text: checkpointText({ origin, ...treeOf(7) }), signatures: [signature] };
    expect(await cosignedAt(note, witness.verifier, nodeCryptography)).toBe(1_800_000_000);
    clockMs += 60_000;
    const again = await submit(7, 7);
    expect([again.status, (await again.text()).trimEnd() === line]).toEqual([200, false]);
    expect((await submit(7, 40)).status).toBe(200);
    const stored = await fetch(`http://127.0.0.1:${listening.port}/${hash('sha256', origin)}/checkpoint`);
    const head = await fetch(stored.url, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([stored.status, '']);
    const read = parseNote(await stored.text());
    if (read === null) throw new Error('not parsed');
    expect(await cosignedAt(read, witness.verifier, nodeCryptography)).toBe(1_800_000_060);
    expect(read.text).toBe(checkpointText({ origin, ...treeOf(40) }));
  });

  test('[audit §9.6] says which size it saw, and refuses every other history', async () => {
    expect((await submit(0, 20)).status).toBe(200);
    const stale = await submit(10, 30);
    expect([stale.status, stale.headers.get('content-type'), await stale.text()]).toEqual([
      409,
      'text/x.tlog.size',
      '20\n',
    ]);
    const shorter = await submit(0, 19);
    expect([shorter.status, await shorter.text()]).toEqual([409, '20\n']);
    const forged = leaves.map((leaf, index) => (index === 3 ? leafHash('ff') : leaf));
    const sameSize = await submit(20, 20, forged);
    expect([sameSize.status, await sameSize.text()]).toEqual([409, '20\n']);
    expect((await submit(20, 30, forged)).status).toBe(422);
    expect((await submit(20, 30)).status).toBe(200);
  });

  test('[audit §9.6] remembers over a restart, in a file of its owner', async () => {
    expect((await submit(0, 20)).status).toBe(200);
    await listening.close();
    await start();
    expect((await submit(0, 20)).status).toBe(409);
    expect((await submit(20, 21)).status).toBe(200);
    expect(statSync(join(folder, 'witness.json')).mode & 0o777).toBe(0o600);
    writeFileSync(join(folder, 'witness.json'), readFileSync(join(folder, 'witness.json'), 'utf8').slice(0, -9));
    expect(() => new WitnessState(join(folder, 'witness.json'))).toThrow(/restore it from a backup/);
  });

  test('[audit §9.6] two submissions at once: one counts', async () => {
    const fork = leaves.map((leaf, index) => (index === 0 ? leafHash('ff') : leaf));
    expect((await statuses(submit(0, 20), submit(0, 20, fork))).toSorted()).toEqual([200, 409]);
  });

  test('[audit §9.6] refuses unknown and unreadable submissions', async () => {
    const unknown = submit(0, 3, leaves, key, 'setpoint/other/t/p/events');
    const unsigned = submit(0, 3, leaves, generateKeyPairSync('ed25519'));
    expect(await statuses(unknown, unsigned, submit(4, 3), post('old x\n\n'), post(''))).toEqual([
      404, 403, 400, 400, 400,
    ]);
    const limit = witnessLimits.bodyBytes;
    expect(await statuses(post('x'.repeat(limit)), post('x'.repeat(limit + 1)))).toEqual([400, 413]);
    const routes = ['/', '/add-checkpoint', `/${'0'.repeat(64)}/checkpoint`];
    expect(await statuses(...routes.map((path) => fetch(`http://127.0.0.1:${listening.port}${path}`)))).toEqual([
      404, 404, 404,
    ]);
  });

  test('[audit §9.6] a proof that is longer or shorter is not valid', async () => {
    expect((await submit(0, 20)).status).toBe(200);
    const { root, proofs } = treeOf(33);
    const note = (await noteSigner(origin, key)).sign(checkpointText({ origin, size: 33, root }));
    const proof = await proofs.consistency(20);
    for (const wrong of [proof.slice(1), [...proof, root], []])
      expect((await post(formatSubmission({ old: 20, proof: wrong, note }))).status).toBe(422);
    expect(formatNote(note)).toContain(origin);
  });
});
