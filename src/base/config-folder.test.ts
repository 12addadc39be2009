import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfigFolder } from './config-folder.ts';
import { YamlError } from './yaml.ts';

describe('files of one kind in a folder of the config dir', () => {
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'setpoint-folder-')), 'kinds');
  });
  afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));
  const wanted = (file: string): boolean => file.endsWith('.txt');
  const read = (text: string, shown: string): string => {
    if (text === 'bad') throw new YamlError([`${shown}:1: one`, `${shown}:2: two`]);
    return `${shown}=${text}`;
  };

  test('are read in the order of their names; a missing folder is empty', () => {
    expect(readConfigFolder(folder, wanted, read)).toEqual([]);
    mkdirSync(folder);
    for (const [file, text] of Object.entries({ 'b.txt': '2', 'a.txt': '1', 'c.md': '3' }))
      writeFileSync(join(folder, file), text);
    expect(readConfigFolder(folder, wanted, read)).toEqual(['kinds/a.txt=1', 'kinds/b.txt=2']);
  });

  test('every error is listed, and an entry that is not a file says what to do', () => {
    mkdirSync(join(folder, 'a.txt'), { recursive: true });
    writeFileSync(join(folder, 'b.txt'), 'bad');
    expect(() => readConfigFolder(folder, wanted, read)).toThrow(
      'kinds/a.txt:1: cannot be read (EISDIR): let the service read it, or remove it\nkinds/b.txt:1: one\nkinds/b.txt:2: two',
    );
  });

  test('a folder that is a file is an error too; a bug is not', () => {
    writeFileSync(folder, '');
    expect(() => readConfigFolder(folder, wanted, read)).toThrow('kinds:1: cannot be read (ENOTDIR)');
    rmSync(folder);
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.txt'), '');
    const broken = (): never => {
      throw new TypeError('ours');
    };
    expect(() => readConfigFolder(folder, wanted, broken)).toThrow(TypeError);
  });
});
