/** Alarms, in the language that is spoken. */
import { language } from './language.ts';

export const { alarmWords } = language === 'de' ? await import('./de/alarms.ts') : await import('./en/alarms.ts');
