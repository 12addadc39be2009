/** Every text that the console shows, English first, by area. Another language is another object of this very type. */
import { auditWords } from './audit.ts';
import { editor } from './editor.ts';
import { common } from './everywhere.ts';
import { forecasts } from './forecasts.ts';
import { nodes } from './nodes.ts';
import { palette } from './palette.ts';
import { rules } from './rules.ts';
import { runs } from './runs.ts';
import { signInWords } from './sign-in.ts';

export const t = { common, signIn: signInWords, palette, rules, editor, nodes, runs, audit: auditWords, forecasts };
