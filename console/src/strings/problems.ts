/** One-click fixes, in the current language. */
import { language } from './language.ts';

export const { fixWords } = language === 'de' ? await import('./de/problems.ts') : await import('./en/problems.ts');
