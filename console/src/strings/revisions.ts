/** Revisions of a rule, in the language that is spoken. */
import { language } from './language.ts';

export const { revisionWords } =
  language === 'de' ? await import('./de/revisions.ts') : await import('./en/revisions.ts');
