/** What one click puts right, in the language that is spoken. */
import { language } from './language.ts';

export const { fixWords } = language === 'de' ? await import('./de/problems.ts') : await import('./en/problems.ts');
