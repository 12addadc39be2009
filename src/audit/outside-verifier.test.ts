/**
 * Checkpoints and proofs of the audit, verified by another project's verifier [audit §9.4]: sigstore's, which reads signed notes,
 * keys and RFC 6962 proofs by itself. The proof file is parsed here from its description, not by our own reader.
 */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { verifyCheckpoint } from '@sigstore/verify/dist/tlog/checkpoint.js';
import { verifyMerkleInclusion } from '@sigstore/verify/dist/tlog/merkle.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  fillTrail,
  type TestTrail,
  testAuditKey,
  testOrigin,
  testScope,
  testSigner,
  testTrail,
} from '../testing/audit-trail.ts';
import { engines } from '../testing/engines.ts';
import { formatVerifier } from '../transparency/signed-note.ts';
import { originOf } from './tree/log-trees.ts';

const owner = { log: 'events', ...testScope } as const;
const origin = originOf(testOrigin, owner);
type Entry = Parameters<typeof verifyCheckpoint>[0];
type Log = Parameters<typeof verifyCheckpoint>[1][number];

/** A proof file in the other verifier's terms. */
function entryOf(file: string): Entry {
  const [head = '', ...rest] = file.split('\n\n');
  const [, extra = '', index = '', ...hashes] = head.split('\n');
  const event = Buffer.from(extra.replace('extra ', ''), 'base64');
  return {
    logIndex: index.replace('index ', ''),
    // The log's entry is the hash of an event.
    canonicalizedBody: createHash('sha256').update(event).digest(),
    inclusionProof: {
      logIndex: index.replace('index ', ''),
      hashes: hashes.map((hash) => Buffer.from(hash, 'base64')),
      checkpoint: { envelope: rest.join('\n\n') },
    },
  } as unknown as Entry;
}

/** A published key, `name+id+key`: the id is four bytes, the key is a type and 32 bytes of Ed25519. */
function logOf(vkey: string): Log {
  const [name = '', id = '', ...key] = vkey.split('+');
  const raw = Buffer.from(key.join('+'), 'base64').subarray(1);
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw]);
  const publicKey: KeyObject = createPublicKey({ key: der, format: 'der', type: 'spki' });
  return { logID: Buffer.from(id, 'hex'), baseURL: name, publicKey, validFor: { start: new Date(0), end: new Date() } };
}

describe.each(engines)("another project's verifier on %s", (engine) => {
  let trail: TestTrail;
  const key = testAuditKey();
  beforeEach(async () => {
    trail = await testTrail(engine);
  });
  afterEach(() => trail.close());

  test('[audit §9.4] accepts each proof, at the edges of tiles too, and no modified one', async () => {
    await fillTrail(trail, 600);
    const { checkpointer, proofs, trees } = testSigner(trail, { key });
    await checkpointer.cover(owner);
    const log = logOf(formatVerifier((await trees.signer(origin)).verifier));
    for (const sequence of [1, 2, 255, 256, 257, 512, 513, 599, 600]) {
      const entry = entryOf(await proofs.inclusion(testScope, sequence));
      const checkpoint = verifyCheckpoint(entry, [log]);
      expect([checkpoint.origin, checkpoint.logSize]).toEqual([origin, 600n]);
      verifyMerkleInclusion(entry, checkpoint);
      const moved = { ...entry.inclusionProof, logIndex: String(sequence === 600 ? 0 : sequence) };
      expect(() => verifyMerkleInclusion({ ...entry, inclusionProof: moved }, checkpoint)).toThrow();
      const other = Buffer.from(entry.canonicalizedBody).fill(7);
      expect(() => verifyMerkleInclusion({ ...entry, canonicalizedBody: other }, checkpoint)).toThrow('root hash');
    }
  });

  test('[audit §9.2] takes no checkpoint that was changed or signed with another key', async () => {
    await fillTrail(trail, 3);
    const { checkpointer, proofs, trees } = testSigner(trail, { key });
    await checkpointer.cover(owner);
    const log = logOf(formatVerifier((await trees.signer(origin)).verifier));
    const file = await proofs.inclusion(testScope, 2);
    const stranger = (await testSigner(trail, { key: testAuditKey() }).trees.signer(origin)).verifier;
    expect(() => verifyCheckpoint(entryOf(file), [logOf(formatVerifier(stranger))])).toThrow('signature');
    expect(() => verifyCheckpoint(entryOf(file), [{ ...logOf(formatVerifier(stranger)), logID: log.logID }])).toThrow(
      'signature',
    );
    const grown = file.replace(`${origin}\n3\n`, `${origin}\n4\n`);
    expect(grown).not.toBe(file);
    expect(() => verifyCheckpoint(entryOf(grown), [log])).toThrow('signature');
  });
});
