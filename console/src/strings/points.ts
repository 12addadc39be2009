/** The site and its points, in the language that is spoken. */
import { language } from './language.ts';

export const { pointWords, siteWords } =
  language === 'de' ? await import('./de/points.ts') : await import('./en/points.ts');
