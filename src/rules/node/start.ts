/** Where every run begins [rules §4.2]. */
import type { NodeKind } from './kind.ts';

export const start: NodeKind<'start', object> = {
  type: 'start',
  fields: [],
  extras: [],
  outputs: ['default'],
  read: () => ({ content: {} }),
};
