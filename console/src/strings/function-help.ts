/** What each function of expressions does, in the language of the console; fetched when an expression is edited. */
import { language } from './language.ts';

export const { functionHelp } =
  language === 'de' ? await import('./de/function-help.ts') : await import('./en/function-help.ts');
