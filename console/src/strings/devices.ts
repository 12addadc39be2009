/** Devices, in the language that is spoken. */
import { language } from './language.ts';

export const { deviceWords } = language === 'de' ? await import('./de/devices.ts') : await import('./en/devices.ts');
