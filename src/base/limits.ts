/** Limits of service.yaml, each defined once: default, allowed range and meaning. The name ends with the unit. */
import Type, { type Static, type TObject } from 'typebox';

/** A whole number from `least` to `most`. */
export function limit(standard: number, [least, most]: readonly [number, number], description: string) {
  return Type.Integer({ minimum: least, maximum: most, default: standard, description });
}

/** The value of each limit when service.yaml does not set it. */
export function defaultsOf<S extends TObject>(section: S): Static<S> {
  const defaults = Object.entries(section.properties).map(([name, schema]) => {
    if (!('default' in schema)) throw new Error(`the limit ${name} has no default`);
    return [name, schema.default];
  });
  return Object.fromEntries(defaults) as Static<S>;
}
