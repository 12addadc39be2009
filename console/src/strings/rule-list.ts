/** The list of rules, in the language that is spoken; the page of a rule does without it. */
import { language } from './language.ts';

export const { ruleListWords } =
  language === 'de' ? await import('./de/rule-list.ts') : await import('./en/rule-list.ts');
