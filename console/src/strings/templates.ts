/** Templates of rules, in the language of the console. */
import { language } from './language.ts';

export const { templateWords } =
  language === 'de' ? await import('./de/templates.ts') : await import('./en/templates.ts');
