/** Revisions of a rule, in the language that is spoken. */
import { language } from './language.ts';

export const { versionWords } = language === 'de' ? await import('./de/versions.ts') : await import('./en/versions.ts');
