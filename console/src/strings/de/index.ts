/** Deutsch: was jede Seite zeigen kann. */
import type { texts as english } from '../en/index.ts';
import { editor } from './editor.ts';
import { common } from './everywhere.ts';
import { nodes } from './nodes.ts';
import { palette } from './palette.ts';
import { rules } from './rules.ts';
import { runs } from './runs.ts';
import { signInWords } from './sign-in.ts';

export const texts: typeof english = { common, signIn: signInWords, palette, rules, editor, nodes, runs };
