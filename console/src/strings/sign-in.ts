/** Signing in, in the language that is spoken: fetched with the page and the dialog that ask for it. */
import { language } from './language.ts';

export const { signInWords } = language === 'de' ? await import('./de/sign-in.ts') : await import('./en/sign-in.ts');
