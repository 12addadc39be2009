#!/usr/bin/env node
/** `npm run processor:contract`: writes the made files of docs/processor-contract (schemas and examples) again. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contractFiles, readExample } from '../processor-kit/conformance/contract-files.ts';

const folder = new URL('../../docs/processor-contract/', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, folder), 'utf8');
const example = readExample(read('task.yaml'), read('examples/request.json'), read('examples/result-produced.json'));
for (const [path, text] of contractFiles(example)) {
  const file = fileURLToPath(new URL(path, folder));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
