/** The end of a run [rules §4.2]. */
import type { NodeKindOf } from './kind.ts';

export const end: NodeKindOf<'end', object> = {
  type: 'end',
  fields: [],
  extras: [],
  outputs: [],
  bare: true,
  read: () => ({ content: {} }),
};
