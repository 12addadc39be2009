import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isMisnamed, misnamedAs, readConfigFolder } from './config-folder.ts';
import { YamlError } from './yaml.ts';

describe('files of one kind in a folder of the config dir', () => {
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'setpoint-folder-')), 'kinds');
  });
  afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));
  const read = (text: string, shown: string): string => {
    if (text === 'bad') throw new YamlError([`${shown}:1: one`, `${shown}:2: two`]);
    return `${shown}=${text}`;
  };

  test('are read in the order of their names; a missing folder is empty', () => {
    expect(readConfigFolder(folder, '.yaml', read)).toEqual([]);
    mkdirSync(folder);
    for (const [file, text] of Object.entries({ 'b.yaml': '2', 'a.yaml': '1', 'c.md': '3' }))
      writeFileSync(join(folder, file), text);
    expect(readConfigFolder(folder, '.yaml', read)).toEqual(['kinds/a.yaml=1', 'kinds/b.yaml=2']);
  });

  test('only the wanted ones, if not all are', () => {
    mkdirSync(folder);
    for (const file of ['a.yaml', 'b.yaml']) writeFileSync(join(folder, file), file);
    expect(readConfigFolder(folder, '.yaml', read, (file) => file === 'b.yaml')).toEqual(['kinds/b.yaml=b.yaml']);
  });

  test('a file with another spelling of the ending is an error, not a file that is missed', () => {
    mkdirSync(folder);
    for (const file of ['a.yml', 'b.YAML', 'c.yaml', 'd.json', 'e.yaml.orig', 'yaml'])
      writeFileSync(join(folder, file), '1');
    const faults = (ending: '.yaml' | '.json') => () => readConfigFolder(folder, ending, read);
    expect(faults('.yaml')).toThrow(
      /^kinds\/a\.yml:1: rename it to end in \.yaml\nkinds\/b\.YAML:1: rename it to end in \.yaml$/,
    );
    expect(faults('.json')()).toEqual(['kinds/d.json=1']);
    expect(
      ['x.rule.yml', 'x.Rule.yaml', 'x.rule.yaml', 'rule.yaml'].map((file) => isMisnamed(file, '.rule.yaml')),
    ).toEqual([true, true, false, false]);
  });

  test('a single file is found by another spelling of its name; a folder that cannot be listed has none', () => {
    expect(misnamedAs(folder, 'service.yaml')).toBeUndefined();
    writeFileSync(folder, '');
    expect(misnamedAs(folder, 'service.yaml')).toBeUndefined();
    rmSync(folder);
    mkdirSync(folder);
    for (const file of ['my-service.yml', 'service.yaml', 'service.yml']) writeFileSync(join(folder, file), '');
    expect(misnamedAs(folder, 'service.yaml')).toBe('service.yml');
  });

  test('every error is listed, and an entry that is not a file says what to do', () => {
    mkdirSync(join(folder, 'a.yaml'), { recursive: true });
    writeFileSync(join(folder, 'b.yaml'), 'bad');
    expect(() => readConfigFolder(folder, '.yaml', read)).toThrow(
      'kinds/a.yaml:1: cannot be read (EISDIR): let the service read it, or remove it\nkinds/b.yaml:1: one\nkinds/b.yaml:2: two',
    );
  });

  test('a folder that is a file is an error too; a bug is not', () => {
    writeFileSync(folder, '');
    expect(() => readConfigFolder(folder, '.yaml', read)).toThrow('kinds:1: cannot be read (ENOTDIR)');
    rmSync(folder);
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.yaml'), '');
    const broken = (): never => {
      throw new TypeError('ours');
    };
    expect(() => readConfigFolder(folder, '.yaml', broken)).toThrow(TypeError);
  });
});
