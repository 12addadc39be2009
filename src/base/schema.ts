/** Schema helpers shared by all areas. */
import * as Type from 'typebox';

/** The name of a variable that holds a secret, never its value. */
export const variableName = Type.String({
  pattern: '^[A-Z_][A-Z0-9_]{0,127}$',
  description: 'the name of an environment variable, in capitals',
});

/** An object schema that rejects unknown members. */
export function strict<P extends Type.TProperties>(properties: P) {
  return Type.Object(properties, { additionalProperties: false });
}
