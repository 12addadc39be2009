/**
 * Decode at the boundary: an unknown value becomes an exact type, or a list of issues that name the field and the
 * rule it broke. Nothing is coerced, defaulted or dropped.
 */
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { type DecodeIssue, issuesOf } from './decode-issues.ts';
import { Fault } from './fault.ts';

export type Decoded<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: DecodeIssue[] };

/** Compiles `schema` for the first value and caches it: a program uses few of its schemas, and compiling each would slow down the start. */
export function compiledWhenUsed<S extends TSchema>(schema: S) {
  const compile = () => Compile(schema);
  let compiled: ReturnType<typeof compile> | undefined;
  return () => (compiled ??= compile());
}

/** Makes a decoder for `schema`. */
export function decoder<S extends TSchema>(schema: S): (value: unknown) => Decoded<Static<S>> {
  const compiled = compiledWhenUsed(schema);
  return (value) => {
    if (compiled().Check(value)) return { ok: true, value };
    return { ok: false, issues: issuesOf(compiled().Errors(value), schema, value) };
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
function refusal(what: string, issues: readonly DecodeIssue[]): Fault {
  const first = issues[0];
  const where = first === undefined || first.path === '' ? what : `${what} ${first.path}`;
  return new Fault('invalid-input', `${where}: ${first?.message ?? 'is not valid'}`, { details: { issues } });
}
