/**
 * An object whose names are free and whose values are all of one kind, as a schema. The library's own `Record` says the same
 * and brings its whole language of types with it, a tenth of what a page of the console weighs.
 */
import * as Type from 'typebox';

interface MapOptions {
  /** The pattern of every name; any name where it is absent. */
  readonly pattern?: string;
  readonly additionalProperties?: false;
  readonly minProperties?: number;
  readonly maxProperties?: number;
}

export function mapOf<V extends Type.TSchema>(value: V, { pattern = '^.*$', ...limits }: MapOptions = {}) {
  return Type.Unsafe<Record<string, Type.Static<V>>>({
    type: 'object',
    patternProperties: { [pattern]: value },
    ...limits,
  });
}
