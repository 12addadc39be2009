/** Local accounts, in the language that is spoken. */
import { language } from './language.ts';

export const { userWords } = language === 'de' ? await import('./de/users.ts') : await import('./en/users.ts');
