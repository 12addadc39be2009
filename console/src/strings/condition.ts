/** The builder of conditions, in the language that is spoken. */
import { language } from './language.ts';

export const { conditionWords } =
  language === 'de' ? await import('./de/condition.ts') : await import('./en/condition.ts');
