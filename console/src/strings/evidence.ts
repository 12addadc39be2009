/** What speaks for a rule, in the language that is spoken. */
import { language } from './language.ts';

export const { evidenceWords } =
  language === 'de' ? await import('./de/evidence.ts') : await import('./en/evidence.ts');
