/** Schema helpers shared by all areas. */
import * as Type from 'typebox';

/** An object schema that rejects unknown members. */
export function strict<P extends Type.TProperties>(properties: P) {
  return Type.Object(properties, { additionalProperties: false });
}
