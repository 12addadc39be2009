/**
 * Every text that the console shows, English first, by area. Another language is another object of this very type. What only one page
 * shows is imported by that page, so that no other one carries it.
 */
import { editor } from './editor.ts';
import { common } from './everywhere.ts';
import { nodes } from './nodes.ts';
import { palette } from './palette.ts';
import { rules } from './rules.ts';
import { runs } from './runs.ts';
import { signInWords } from './sign-in.ts';

export const t = {
  common,
  signIn: signInWords,
  palette,
  rules,
  editor,
  nodes,
  runs,
};
