/** Help texts of the expression functions, in the console's language; fetched when an expression is edited. */
import { language } from './language.ts';

export const { functionHelp } =
  language === 'de' ? await import('./de/function-help.ts') : await import('./en/function-help.ts');
