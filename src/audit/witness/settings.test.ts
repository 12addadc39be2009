/** Witnesses and names in service.yaml [audit §9.6]: each fault is one line with its place. */
import { generateKeyPairSync } from 'node:crypto';
import { Check } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { strict } from '../../base/schema.ts';
import { formatVerifier } from '../../transparency/signed-note.ts';
import { cosigner, noteSigner } from '../../transparency/signing.ts';
import { auditNames, witnessPolicy } from './settings.ts';

const vkeyOf = async (name: string) => formatVerifier((await cosigner(name, generateKeyPairSync('ed25519'))).verifier);
const linesOf = (work: Promise<unknown>) =>
  work.then(
    () => [],
    (error: unknown) => Object(error).lines as string[],
  );

describe('witnesses of service.yaml', () => {
  test('[audit §9.6] accepts https and loopback URLs; without witnesses there is no policy', async () => {
    const witnesses = [
      { url: 'https://witness.example/a', vkey: await vkeyOf('a') },
      { url: 'http://127.0.0.1:8181', vkey: await vkeyOf('b') },
    ];
    const policy = await witnessPolicy({ witnesses, witness_policy: { required: 2 } });
    expect(policy.witnesses.map(({ verifier }) => verifier.name)).toEqual(['a', 'b']);
    expect(policy.required).toBe(2);
    expect(await witnessPolicy({})).toEqual({ witnesses: [], required: 0 });
  });

  test('[audit §9.6] every fault is named', async () => {
    const log = formatVerifier((await noteSigner('log', generateKeyPairSync('ed25519'))).verifier);
    const vkey = await vkeyOf('twice');
    const witnesses = [
      { url: 'http://witness.example', vkey },
      { url: 'https://site:secret@witness.example', vkey },
      { url: 'nonsense', vkey: log },
    ];
    expect(await linesOf(witnessPolicy({ witnesses, witness_policy: { required: 4 } }))).toEqual([
      'service.yaml: audit.witnesses[0].url: must use https, or be a loopback address',
      'service.yaml: audit.witnesses[1].url: must not hold a user name or password',
      'service.yaml: audit.witnesses[1].vkey: is given twice',
      'service.yaml: audit.witnesses[2].url: is not an http or https URL',
      'service.yaml: audit.witnesses[2].vkey: is not the key of a witness (name+8 digits+base64)',
      'service.yaml: audit.witness_policy.required: must be at most 3, the number of witnesses',
    ]);
  });

  test('[audit §9.6] ten witnesses, not eleven; a name without spaces and plus signs', () => {
    const schema = strict(auditNames);
    const many = (count: number) => ({ witnesses: Array.from({ length: count }, () => ({ url: 'u', vkey: 'v' })) });
    expect([Check(schema, many(10)), Check(schema, many(11))]).toEqual([true, false]);
    const named = (origin: string) => Check(schema, { origin });
    expect([named('a'.repeat(255)), named('a'.repeat(256)), named('a b'), named('a+b')]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
