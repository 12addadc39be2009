/** Evaluates its branches in order; the first true one names the output, otherwise `else` [rules §4.2]. */
import { readBranches } from '../node-content.ts';
import type { NodeKindOf } from './kind.ts';
import type { Branch } from './parts.ts';

export const decision: NodeKindOf<'switch', { readonly branches: readonly Branch[] }> = {
  type: 'switch',
  fields: ['branches'],
  extras: ['variables', 'assignments'],
  outputs: [],
  read(config, context) {
    const { branches, outputs } = readBranches(config, context);
    return { content: { branches }, outputs };
  },
};
