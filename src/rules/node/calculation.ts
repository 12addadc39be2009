/** Computes variables for the nodes behind it [rules §4.2]. */
import { readAssignments } from '../node-content.ts';
import type { NodeKindOf } from './kind.ts';
import type { Assignment } from './parts.ts';

export const calculation: NodeKindOf<'calculation', { readonly assignments: readonly Assignment[] }> = {
  type: 'calculation',
  fields: ['assignments'],
  // Second dialect: an output that names a declared point variable also writes it, after all assignments.
  extras: ['variables', 'writes'],
  outputs: ['default'],
  read: (config, context) => ({ content: { assignments: readAssignments(config, context, true) } }),
};
