/**
 * Decode at the boundary: an unknown value becomes an exact type, or a list of issues that name the field and the
 * rule it broke. Nothing is coerced, defaulted or dropped.
 */
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Fault } from './fault.ts';

export interface DecodeIssue {
  /** JSON Pointer into the decoded value; `` is the value itself. */
  readonly path: string;
  readonly message: string;
}

export type Decoded<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: DecodeIssue[] };

/** Makes a decoder for `schema`; compiled once, used for every value. */
export function decoder<S extends TSchema>(schema: S): (value: unknown) => Decoded<Static<S>> {
  const compiled = Compile(schema);
  return (value) => {
    if (compiled.Check(value)) return { ok: true, value };
    return { ok: false, issues: issuesOf(compiled.Errors(value), schema) };
  };
}

/** Decodes or throws a Fault `invalid-input` that lists every issue under `details.issues`. */
export function decodeOrRefuse<S extends TSchema>(schema: S, what: string): (value: unknown) => Static<S> {
  const decode = decoder(schema);
  return (value) => {
    const result = decode(value);
    if (result.ok) return result.value;
    throw refusal(what, result.issues);
  };
}

/** The Fault for a value that did not decode; its message names the first field, its details all of them. */
export function refusal(what: string, issues: readonly DecodeIssue[]): Fault {
  const first = issues[0];
  const where = first === undefined || first.path === '' ? what : `${what} ${first.path}`;
  return new Fault('invalid-input', `${where}: ${first?.message ?? 'is not valid'}`, { details: { issues } });
}

interface SchemaError {
  readonly keyword: string;
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly message: string;
  readonly params: object;
}

/** Turns the validator's raw errors into issues: one per field, unknown members by name, no echo of inner branches. */
function issuesOf(errors: readonly SchemaError[], schema: TSchema): DecodeIssue[] {
  const byPath = new Map<string, DecodeIssue>();
  for (const error of errors) {
    // Unknown members are reported once each by the 'boolean' error at their own path.
    if (error.keyword === 'additionalProperties') continue;
    const message = error.keyword === 'boolean' ? 'is not a known field' : messageOf(error, schema);
    if (!byPath.has(error.instancePath) || error.keyword === 'anyOf') {
      byPath.set(error.instancePath, { path: error.instancePath, message });
    }
  }
  return byPath.size === 0 ? [{ path: '', message: 'is not valid' }] : [...byPath.values()];
}

/** In words where there are some: the description of a pattern, the members of a choice. */
function messageOf(error: SchemaError, schema: TSchema): string {
  const { params } = error;
  if ('allowedValues' in params && Array.isArray(params.allowedValues)) return oneOf(params.allowedValues);
  if ('allowedValue' in params) return `must be ${JSON.stringify(params.allowedValue)}`;
  if ('requiredProperties' in params && Array.isArray(params.requiredProperties)) {
    return `must have ${params.requiredProperties.map((name) => JSON.stringify(name)).join(', ')}`;
  }
  const place = schemaAt(schema, error.schemaPath);
  if (error.keyword === 'pattern' && typeof place.description === 'string') return `must be ${place.description}`;
  if (error.keyword === 'anyOf' && Array.isArray(place.anyOf)) return choiceOf(place.anyOf) ?? error.message;
  return error.message;
}

function oneOf(values: readonly unknown[]): string {
  return `must be one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
}

/** Undefined when the alternatives are more than plain values and null. */
function choiceOf(alternatives: readonly unknown[]): string | undefined {
  const values = alternatives.map((alternative) => {
    if (typeof alternative !== 'object' || alternative === null) return undefined;
    if ('const' in alternative) return alternative.const;
    return 'type' in alternative && alternative.type === 'null' ? null : undefined;
  });
  return values.includes(undefined) ? undefined : oneOf(values);
}

/** The part of a schema that an error's path (`#/properties/…`) points to; empty when there is none. */
function schemaAt(schema: TSchema, path: string): Record<string, unknown> {
  let place: unknown = schema;
  for (const part of path.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    place = typeof place === 'object' && place !== null && Object.hasOwn(place, name) ? Reflect.get(place, name) : null;
  }
  return typeof place === 'object' && place !== null ? { ...place } : {};
}
