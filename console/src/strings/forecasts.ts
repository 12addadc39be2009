/** Forecasts, in the language that is spoken. */
import { language } from './language.ts';

export const { forecastWords } =
  language === 'de' ? await import('./de/forecasts.ts') : await import('./en/forecasts.ts');
