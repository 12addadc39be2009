/** Identifiers and secrets [platform §2.2], [identity §2]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { correlationIdPattern, newId, newSecret } from './id.ts';

describe('[platform §2.1] identifiers', () => {
  test('are UUIDv7: all different, in order of their making, with the time in front', () => {
    const beforeMs = Date.now();
    const ids = Array.from({ length: 10_000 }, newId);
    const afterMs = Date.now();
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(ids);
    for (const id of [ids[0], ids.at(-1)]) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      const madeMs = Number.parseInt((id ?? '').replaceAll('-', '').slice(0, 12), 16);
      expect(madeMs).toBeGreaterThanOrEqual(beforeMs);
      expect(madeMs).toBeLessThanOrEqual(afterMs);
    }
  });

  test('are valid correlation ids', () => {
    for (let count = 0; count < 100; count++) expect(newId()).toMatch(correlationIdPattern);
  });
});

describe('[identity §2] secrets', () => {
  test('are 32 random bytes as base64url, no bit of them fixed', () => {
    const secrets = Array.from({ length: 500 }, newSecret);
    expect(new Set(secrets).size).toBe(secrets.length);
    const always = new Uint8Array(32).fill(0xff);
    const ever = new Uint8Array(32);
    for (const secret of secrets) {
      expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
      for (const [index, byte] of Buffer.from(secret, 'base64url').entries()) {
        always[index] = (always[index] ?? 0) & byte;
        ever[index] = (ever[index] ?? 0) | byte;
      }
    }
    expect([...always].every((bits) => bits === 0)).toBe(true);
    expect([...ever].every((bits) => bits === 0xff)).toBe(true);
  });
});

describe('[platform §2.2] correlation ids of a caller', () => {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  /** The sentence of the contract, without a regular expression. */
  const isValid = (text: string): boolean =>
    text.length >= 8 &&
    text.length <= 128 &&
    text.split('').every((character) => `${letters}._:-`.includes(character)) &&
    letters.includes(text[0] ?? ' ');

  test('8 to 128 of A-Za-z0-9._:-, the first alphanumeric', () => {
    const near = fc.string({
      unit: fc.constantFrom(...letters.split(''), '.', '_', ':', '-', ' ', '\n', 'é', '/'),
      maxLength: 140,
    });
    const mostlyGood = fc.string({
      unit: fc.constantFrom(...letters.split(''), '.', '_', ':', '-'),
      minLength: 6,
      maxLength: 131,
    });
    fc.assert(
      fc.property(fc.oneof(near, mostlyGood, fc.string()), (text) => {
        expect(correlationIdPattern.test(text)).toBe(isValid(text));
      }),
      { numRuns: 2000 },
    );
    for (const [text, valid] of [
      ['a'.repeat(7), false],
      ['a'.repeat(8), true],
      ['a'.repeat(128), true],
      ['a'.repeat(129), false],
      ['abcdefgh\n', false],
    ] as const)
      expect(correlationIdPattern.test(text)).toBe(valid);
  });
});
