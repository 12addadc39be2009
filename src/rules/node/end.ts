/** Where a run ends [rules §4.2]. */
import type { NodeKind } from './kind.ts';

export const end: NodeKind<'end', object> = {
  type: 'end',
  fields: [],
  extras: [],
  outputs: [],
  bare: true,
  read: () => ({ content: {} }),
};
