/** The audit log, in the language that is spoken. */
import { language } from './language.ts';

export const { auditWords } = language === 'de' ? await import('./de/audit.ts') : await import('./en/audit.ts');
