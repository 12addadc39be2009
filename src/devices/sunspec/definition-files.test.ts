/** SunSpec models in files next to site.yaml [points §3.4]. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { curves, modules } from '../../testing/sunspec-definition.ts';
import { readModelDefinitions } from './definition-files.ts';

let configDir: string;
beforeEach(() => {
  configDir = mkdtempSync(join(tmpdir(), 'setpoint-models-'));
});
afterEach(() => rmSync(configDir, { recursive: true, force: true }));

function write(file: string, value: unknown): void {
  mkdirSync(join(configDir, 'sunspec'), { recursive: true });
  writeFileSync(join(configDir, 'sunspec', file), JSON.stringify(value));
}

test('[points §3.4] are read in the order of their numbers; a site without a folder has none', () => {
  expect(readModelDefinitions(configDir)).toEqual([]);
  write('a.json', modules);
  write('b.json', curves);
  write('notes.txt', 'no model');
  expect(readModelDefinitions(configDir).map(({ model, name }) => `${model} ${name}`)).toEqual([
    '64901 vendor_model',
    '64902 vendor_model',
  ]);
});

test('[points §3.4] every fault of every file is named, and a number that two files define', () => {
  write('a.json', curves);
  write('b.json', { ...curves, id: 0 });
  write('c.json', curves);
  write('d.json', 7);
  const faults = [
    /^sunspec\/b\.json:1: \/id /m,
    /^sunspec\/c\.json:1: \/id model 64901 is defined in sunspec\/a\.json too: keep one of the two$/m,
  ];
  for (const fault of [...faults, /^sunspec\/d\.json:1: /m])
    expect(() => readModelDefinitions(configDir)).toThrow(fault);
});
