/**
 * `bindings/*.yaml` [data-processing §2.1]: maps the names of declarations to one site. Strict; commissioning checks whether it
 * agrees with site.yaml and with a task.
 */
import Type, { type Static } from 'typebox';
import { digestSchema, identifierSchema, revisionSchema, sourceRefSchema, unitSchema } from '../../api/processing.ts';
import { decoder } from '../../base/decode.ts';
import { strict } from '../../base/schema.ts';
import { notFinite, parseYaml, YamlError } from '../../base/yaml.ts';
import { optional, wholeSchema, wordSchema, words } from '../../contract/lexical.ts';
import type { Placed } from '../../contract/task/read.ts';

const wireIdSchema = wholeSchema(0, 4_294_967_295);
const pointSchema = strict({
  point: wireIdSchema,
  unit: unitSchema,
  scale: Type.Number(),
  offset: Type.Number(),
  sign_convention: optional(wordSchema),
  /** It counts an amount, such as energy: a task that needs the power gets the difference. */
  counter: optional(Type.Boolean()),
  source_ref: sourceRefSchema,
});
const recordedFieldSchema = strict({
  instance: wireIdSchema,
  point: wireIdSchema,
  unit: unitSchema,
  scale: optional(Type.Number()),
  offset: optional(Type.Number()),
  sign_convention: optional(wordSchema),
  counter: optional(Type.Boolean()),
  source_ref: sourceRefSchema,
});
const runFieldSchema = strict({ unit: unitSchema, source_ref: sourceRefSchema });
const historianDatasetSchema = strict({
  source: Type.Literal('historian'),
  fields: Type.Record(Type.String({ minLength: 1, maxLength: 256 }), recordedFieldSchema),
});
const fileDatasetSchema = strict({
  source: Type.Literal('file'),
  path: Type.String({ minLength: 1, maxLength: 1024 }),
  /** Base of a relative path: this file (the default), or the data dir, for runs that are written there. */
  relative_to: optional(words('this_file', 'data_dir')),
  /** Maximum size in bytes; a larger file is not read. */
  max_file_bytes: wholeSchema(1, 268_435_456),
  fallback: optional(words('none', 'previous_run', 'persistence_day')),
  fields: Type.Record(Type.String({ minLength: 1, maxLength: 256 }), runFieldSchema),
});

const bindingGrammar = strict({
  schema: Type.Literal('svc.data-processing-binding.v1'),
  // Shorter than other identifiers, so that `processing-binding:<id>` fits the audit's resource ids.
  id: Type.Intersect([identifierSchema, Type.String({ maxLength: 100 })]),
  revision: revisionSchema,
  enabled: Type.Boolean(),
  commissioned: Type.Boolean(),
  remote_egress_allowed: optional(Type.Boolean()),
  artifact: optional(
    strict({
      kind: identifierSchema,
      family: identifierSchema,
      version: optional(identifierSchema),
      artifact_digest: optional(digestSchema),
    }),
  ),
  instances: optional(
    Type.Record(
      Type.String({ minLength: 1, maxLength: 256 }),
      strict({
        instance: wireIdSchema,
        points: Type.Record(Type.String({ minLength: 1, maxLength: 256 }), pointSchema),
      }),
    ),
  ),
  datasets: optional(
    Type.Record(Type.String({ minLength: 1, maxLength: 256 }), Type.Union([historianDatasetSchema, fileDatasetSchema])),
  ),
});

export type Binding = Static<typeof bindingGrammar>;
export type RecordedField = Static<typeof recordedFieldSchema>;
export type CovariateFallback = 'none' | 'previous_run' | 'persistence_day';

const decode = decoder(bindingGrammar);

/** Throws a YamlError with one line per fault. */
export function readBinding(text: string, fileName: string): Placed<Binding> {
  const file = parseYaml(text, fileName);
  const faults = notFinite(file.value, '').map((path) => file.at(path, 'must be a finite number'));
  const decoded = decode(file.value);
  if (!decoded.ok) faults.push(...decoded.issues.map((issue) => file.at(issue.path, issue.message)));
  if (!decoded.ok || faults.length > 0) throw new YamlError(faults);
  return { value: decoded.value, at: file.at };
}
