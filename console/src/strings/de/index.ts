/** Deutsch: was jede Seite zeigen kann. */
import type { texts as english } from '../en/index.ts';
import { editor } from './editor.ts';
import { common } from './everywhere.ts';
import { nodes } from './nodes.ts';
import { palette } from './palette.ts';
import { rules } from './rules.ts';
import { runs } from './runs.ts';

export const texts: typeof english = { common, palette, rules, editor, nodes, runs };
