/** Notes, keys, checkpoints and proofs as other programs write them [audit §9]. */
import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromBase64, toBase64 } from './base64.ts';
import { checkpointText, isOrigin, originBytesMax, parseCheckpoint, parseWhole } from './checkpoint.ts';
import { cosignedAt } from './cosignature.ts';
import { checkProof, formatProofFile, parseProofFile } from './proof-file.ts';
import { formatNote, formatVerifier, isSignedBy, noteLimits, parseNote, parseVerifier } from './signed-note.ts';
import { cosigner, nodeCryptography, noteSigner } from './signing.ts';
import { formatSubmission, parseSubmission } from './submission.ts';

/** Published with the description of signed notes. */
const peterKey = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const enochKey = 'EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop';
const text =
  'If you think cryptography is the answer to your problem,\nthen you don’t know what your problem is.\n'.replace(
    '’',
    "'",
  );
const published = `${text}
— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=
`;
const key = generateKeyPairSync('ed25519');
const root = new Uint8Array(32).fill(7);

async function verifierOf(vkey: string) {
  const verifier = await parseVerifier(vkey, nodeCryptography);
  if (verifier === null) throw new Error('no verifier');
  return verifier;
}

describe('signed notes', () => {
  test('[audit §9] the published note verifies with the published keys, byte for byte', async () => {
    const note = parseNote(published);
    if (note === null) throw new Error('not parsed');
    expect(formatNote(note)).toBe(published);
    for (const vkey of [peterKey, enochKey]) {
      const verifier = await verifierOf(vkey);
      expect(formatVerifier(verifier)).toBe(vkey);
      expect(await isSignedBy(note, verifier, nodeCryptography)).toBe(true);
      const changed = { ...note, text: note.text.replace('problem', 'Problem') };
      expect(await isSignedBy(changed, verifier, nodeCryptography)).toBe(false);
    }
  });

  test('[audit §9] keys with a wrong id, length or type are refused', async () => {
    for (const vkey of [
      peterKey.replace('c74f20a3', 'c74f20a4'),
      'PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==',
      'PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
      'PeterNeumann',
      '',
    ])
      expect(await parseVerifier(vkey, nodeCryptography)).toBeNull();
  });

  test('[audit §9] invalid notes are refused', () => {
    for (const bad of [
      '',
      text,
      `${text}\n`,
      published.slice(0, -1),
      published.replace('— Peter', '- Peter'),
      published.replace('x08go', '!08go'),
      published.replace('If', 'If\u0007'),
      `${'a'.repeat(noteLimits.textBytes - 16)}\n\n— a YWFhYWFh\n`,
      `${text}\n${'— a YWFhYWFh\n'.repeat(noteLimits.signatures + 1)}`,
    ])
      expect(parseNote(bad)).toBeNull();
    // At the limits, not over them.
    expect(parseNote(`${'a'.repeat(noteLimits.textBytes - 17)}\n\n— a YWFhYWFh\n`)).not.toBeNull();
    expect(parseNote(`${text}\n${'— a YWFhYWFh\n'.repeat(noteLimits.signatures)}`)).not.toBeNull();
  });

  test('[audit §9] a checkpoint has three lines, its size no zeros before it, its root 32 bytes', () => {
    const head = { origin: 'example.com/log', size: 20_852_163, root };
    expect(checkpointText(head)).toBe(`example.com/log\n20852163\n${toBase64(root)}\n`);
    expect(parseCheckpoint(checkpointText(head))).toEqual(head);
    for (const bad of [
      '',
      'a\n01\n',
      `a\n1\n${toBase64(root.slice(1))}\n`,
      `a\n-1\n${toBase64(root)}\n`,
      `a\n1\n${toBase64(root)}`,
    ])
      expect(parseCheckpoint(bad)).toBeNull();
    expect(isOrigin('a'.repeat(originBytesMax))).toBe(true);
    expect(isOrigin('a'.repeat(originBytesMax + 1))).toBe(false);
    expect([isOrigin('a b'), isOrigin('a+b'), isOrigin('')]).toEqual([false, false, false]);
    expect([parseWhole('0'), parseWhole('00'), parseWhole('9007199254740991'), parseWhole('9007199254740992')]).toEqual(
      [0, null, Number.MAX_SAFE_INTEGER, null],
    );
  });

  test('[audit §9] a witness’ cosignature holds for its time and head only', async () => {
    const log = await noteSigner('log', key);
    const witness = await cosigner('witness.example', generateKeyPairSync('ed25519'));
    const note = log.sign(checkpointText({ origin: 'log', size: 3, root }));
    const cosigned = { ...note, signatures: [...note.signatures, witness.cosign(note.text, 1_700_000_000)] };
    const read = parseNote(formatNote(cosigned));
    if (read === null) throw new Error('not parsed');
    expect(await cosignedAt(read, witness.verifier, nodeCryptography)).toBe(1_700_000_000);
    expect(await cosignedAt(note, witness.verifier, nodeCryptography)).toBeNull();
    expect(
      await cosignedAt({ ...read, text: read.text.replace('3', '4') }, witness.verifier, nodeCryptography),
    ).toBeNull();
    // The log’s own signature is none of a witness, nor the other way round.
    expect(await cosignedAt(read, log.verifier, nodeCryptography)).toBeNull();
    expect(await isSignedBy(read, witness.verifier, nodeCryptography)).toBe(false);
  });

  test('[audit §9] proofs and submissions survive writing and reading', async () => {
    const hashes = fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), { maxLength: 63 });
    const note = (await noteSigner('log', key)).sign(checkpointText({ origin: 'log', size: 70, root }));
    fc.assert(
      fc.property(hashes, fc.uint8Array(), fc.nat(), (proof, extra, index) => {
        const file = { extra: new Uint8Array(extra), index, proof, checkpoint: note };
        expect(parseProofFile(formatProofFile(file))).toEqual(file);
        const sent = { old: index, proof, note };
        expect(parseSubmission(formatSubmission(sent))).toMatchObject(sent);
      }),
    );
    const long = (count: number) =>
      formatProofFile({ extra: root, index: 0, proof: Array.from({ length: count }, () => root), checkpoint: note });
    expect([parseProofFile(long(63)) === null, parseProofFile(long(64)) === null]).toEqual([false, true]);
    const tooMany = { old: 1, proof: Array.from({ length: 64 }, () => root), note };
    expect(parseSubmission(formatSubmission(tooMany))).toBeNull();
    expect(
      await checkProof('no', { log: await verifierOf(peterKey), witnesses: [], hash: null }, nodeCryptography),
    ).toMatchObject({ holds: false });
  });

  test('base64 has one text for the same bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(fromBase64(toBase64(bytes))).toEqual(new Uint8Array(bytes));
      }),
    );
    for (const bad of ['a', 'YQ', 'YR==', 'Y Q=', 'YQ==\n', '_-==']) expect(fromBase64(bad)).toBeNull();
  });
});
