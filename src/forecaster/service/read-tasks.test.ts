/** [processor §7]: the folder of declarations is read strictly, with the place of every fault. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fixtureText } from '../../testing/load-fixture.ts';
import { readTaskFolder } from './read-tasks.ts';

const text = fixtureText('site-load-forecast.yaml');
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-tasks-'));
});
afterEach(() => rmSync(folder, { recursive: true }));
const write = (name: string, content: string) => writeFileSync(join(folder, name), content);

test('each file is a task; two revisions of one task stand side by side', () => {
  write('one.yaml', text);
  write('two.yml', text.replace('revision: 1', 'revision: 2'));
  write('README.md', 'not a task');
  expect(readTaskFolder(folder).map(({ revision }) => revision)).toEqual([1, 2]);
});

test('faults of all files are reported together', () => {
  write('one.yaml', text);
  write('same.yaml', text);
  write('wrong.yaml', text.replace('revision: 1', 'revision: none'));
  expect(() => readTaskFolder(folder)).toThrow(/^same\.yaml:\d+: .*the same task.*one\.yaml\nwrong\.yaml:\d+: /s);
});

test('a cadence that no day is made of, and a target without history, are refused at the start', () => {
  write('odd.yaml', text.replaceAll('cadence_seconds: 900', 'cadence_seconds: 700'));
  expect(() => readTaskFolder(folder)).toThrow(/odd\.yaml:\d+: .*must divide a day/);
  rmSync(join(folder, 'odd.yaml'));
  write(
    'blind.yaml',
    text.replace('target: { name: load', 'target: { name: other').replace('  name: load\n', '  name: other\n'),
  );
  expect(() => readTaskFolder(folder)).toThrow(/blind\.yaml:\d+: .*must hold the target/);
});

test('no folder, and a folder without a task, are refused', () => {
  expect(() => readTaskFolder(folder)).toThrow('contains no .yaml file');
  expect(() => readTaskFolder(join(folder, 'none'))).toThrow('cannot be read');
});
