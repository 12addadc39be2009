/**
 * Every text of the console, by language and area (`en/`, `de/`). Only the current language is fetched. Texts of a single page
 * have a module of their own beside this one, so that other pages do not load them.
 */
import { language } from './language.ts';

const { texts } = language === 'de' ? await import('./de/index.ts') : await import('./en/index.ts');

export const t = texts;
