/**
 * Every text that the console shows, by language and area (`en/`, `de/`). Only the language that is spoken is fetched. What only one page
 * shows has a door of its own beside this one, so that no other page carries it.
 */
import { language } from './language.ts';

const { texts } = language === 'de' ? await import('./de/index.ts') : await import('./en/index.ts');

export const t = texts;
