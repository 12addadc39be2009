/**
 * Shapes: a schema as a check that returns issues of the wire. An unknown member is reported at the object that
 * contains it, never by its name, because an untrusted sender chose the name.
 */
import type { Static, TSchema } from 'typebox';
import { compiledWhenUsed } from '../../base/decode.ts';
import { step, unknownMember, type Wire, type WireIssue } from './issue.ts';

interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
}

const rules: Readonly<Record<string, string>> = {
  boolean: unknownMember,
  type: 'type',
  anyOf: 'type',
  const: 'value',
  enum: 'value',
  required: 'required',
  pattern: 'pattern',
  minimum: 'bounds',
  maximum: 'bounds',
  exclusiveMinimum: 'bounds',
  exclusiveMaximum: 'bounds',
  minLength: 'length',
  maxLength: 'length',
  minItems: 'length',
  maxItems: 'length',
  minProperties: 'length',
  maxProperties: 'length',
  uniqueItems: 'unique',
};

/** Unknown members come first among the issues. */
export function shape<S extends TSchema>(schema: S): (value: unknown) => Wire<Static<S>> {
  const compiled = compiledWhenUsed(schema);
  return (value) => {
    if (compiled().Check(value)) return { ok: true, value };
    return { ok: false, issue: firstIssue(compiled().Errors(value)) };
  };
}

function firstIssue(errors: readonly SchemaError[]): WireIssue {
  const error = errors.find((each) => each.keyword === 'boolean') ?? errors[0];
  if (error === undefined) return { path: '', rule: 'type' };
  const rule = rules[error.keyword] ?? 'value';
  if (rule === unknownMember) return { path: parent(error.instancePath), rule };
  return { path: error.instancePath + missingMember(error), rule };
}

function parent(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** A missing member is named: the name is the contract's own. */
function missingMember(error: SchemaError): string {
  if (!('requiredProperties' in error.params) || !Array.isArray(error.params.requiredProperties)) return '';
  const name: unknown = error.params.requiredProperties[0];
  return typeof name === 'string' ? step(name) : '';
}
