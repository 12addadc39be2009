/** English: what every page may show. Another language is another object of this very type. */
import { editor } from './editor.ts';
import { common } from './everywhere.ts';
import { nodes } from './nodes.ts';
import { palette } from './palette.ts';
import { rules } from './rules.ts';
import { runs } from './runs.ts';

export const texts = { common, palette, rules, editor, nodes, runs };
