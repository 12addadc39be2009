/** Writes action points [rules §4.2]. */
import { readWrites } from '../node-content.ts';
import type { NodeKindOf } from './kind.ts';
import type { Write } from './parts.ts';

export const action: NodeKindOf<'change', { readonly writes: readonly Write[] }> = {
  type: 'change',
  fields: ['writes'],
  extras: ['variables', 'assignments'],
  outputs: ['default'],
  read: (config, context) => ({ content: { writes: readWrites(config, context, true) } }),
};
