/** [processor §3]: a digest that depends on the code and nothing else, and selectors that pin. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forecasterArtifact, isSelected, sourceDigest } from './artifact.ts';

test('the digest follows names and contents of sources, not tests and not the order of writing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-artifact-'));
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  mkdirSync(join(folder, 'series'));
  write('series/b.ts', 'two');
  write('a.ts', 'one');
  const first = sourceDigest(folder);
  write('a.test.ts', 'a test');
  write('note.md', 'a note');
  expect(sourceDigest(folder)).toBe(first);
  write('a.ts', 'One');
  expect(sourceDigest(folder)).not.toBe(first);
  write('a.ts', 'onetw');
  write('series/b.ts', 'o');
  expect(sourceDigest(folder)).not.toBe(first);
  rmSync(folder, { recursive: true });
});

test('[processor §3]kind and family must match, and other pinned members', () => {
  const own = forecasterArtifact('1.2.3');
  expect(own.artifact_digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  const { kind, family, version, artifact_digest } = own;
  expect(isSelected({ kind, family }, own)).toBe(true);
  expect(isSelected({ kind, family, version, artifact_digest }, own)).toBe(true);
  expect(isSelected({ kind, family: 'other' }, own)).toBe(false);
  expect(isSelected({ kind: 'table', family }, own)).toBe(false);
  expect(isSelected({ kind, family, version: '1.2.4' }, own)).toBe(false);
  expect(isSelected({ kind, family, artifact_digest: `sha256:${'0'.repeat(64)}` }, own)).toBe(false);
});
