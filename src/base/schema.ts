/** What the schemas of every area share. */
import * as Type from 'typebox';

/** An object whose members are all known: whatever else it has is refused. */
export function strict<P extends Type.TProperties>(properties: P) {
  return Type.Object(properties, { additionalProperties: false });
}
