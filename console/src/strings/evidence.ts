/** The evidence for a rule, in the language of the console. */
import { language } from './language.ts';

export const { evidenceWords } =
  language === 'de' ? await import('./de/evidence.ts') : await import('./en/evidence.ts');
