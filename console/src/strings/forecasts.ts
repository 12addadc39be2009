/** Forecasts, in the language that is spoken. */
import { language } from './language.ts';

export const { forecastWords } =
  language === 'de' ? await import('./de/forecasts.ts') : await import('./en/forecasts.ts');

/** Why there is no result: a code of the transport in words, or the processor's own code. */
export function unavailableText(code: string): string {
  return forecastWords.refusal.unavailableReasons[code] ?? code;
}
