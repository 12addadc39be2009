/** Points that rules write themselves, in site.yaml [points §3.3]. */
import Type, { type Static } from 'typebox';
import { decoder } from '../../base/decode.ts';
import { strict } from '../../base/schema.ts';
import { identifier, type Protocol } from './protocol.ts';

const settings = strict({ id: identifier, driver: Type.Literal('virtual') });

export const virtual: Protocol<Static<typeof settings>, never> = {
  settings: decoder(settings),
  address: null,
  // A value that a rule wrote stays until the next write.
  defaultMaxAgeMs: () => Number.POSITIVE_INFINITY,
};
