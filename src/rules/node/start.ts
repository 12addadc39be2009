/** The start of every run [rules §4.2]. */
import type { NodeKindOf } from './kind.ts';

export const start: NodeKindOf<'start', object> = {
  type: 'start',
  fields: [],
  extras: [],
  outputs: ['default'],
  read: () => ({ content: {} }),
};
