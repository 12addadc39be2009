/**
 * The digests of declarations in one small file of the data directory: `{"schema", "digests": {"<id> <revision>":
 * "sha256:…"}}`, replaced atomically by a rename, so that a crash leaves the old or the new one.
 */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Type from 'typebox';
import { digestSchema } from '../../api/processing.ts';
import { decoder } from '../../base/decode.ts';
import { JsonError, parseJson } from '../../base/json.ts';
import { readIfThere, replaceDurably } from '../../base/own-file.ts';
import { strict } from '../../base/schema.ts';
import type { KeptDigests } from './revision.ts';

const schemaId = 'svc.data-processing-task-digests.v1';
const decode = decoder(strict({ schema: Type.Literal(schemaId), digests: Type.Record(Type.String(), digestSchema) }));

/** An existing but invalid file stops the start: otherwise a revision could change undetected. */
export function keptDigestsFile(path: string): KeptDigests {
  return {
    read() {
      const text = readIfThere(path);
      if (text === null) return new Map();
      const decoded = decode(parsed(text, path));
      if (!decoded.ok) throw new Error(`${path} is not a file of task digests; restore it or remove it`);
      return new Map(Object.entries(decoded.value.digests));
    },
    write(digests) {
      mkdirSync(dirname(path), { recursive: true });
      const content = { schema: schemaId, digests: Object.fromEntries(digests) };
      replaceDurably(path, `${JSON.stringify(content, null, 2)}\n`);
    },
  };
}

function parsed(text: string, path: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonError)
      throw new Error(`${path} ${error.message}; restore it or remove it`, { cause: error });
    throw error;
  }
}
