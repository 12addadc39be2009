/** The language of the console: the user's choice in this browser, or else the first of the browser's languages that we have. */

import { storedText, storeText } from '../browser-storage.ts';

export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;
export const languageNames = Object.keys(languages) as Language[];

const place = 'setpoint.language';

function known(tag: string | null | undefined): Language | undefined {
  const name = tag?.toLowerCase().split('-')[0];
  return languageNames.find((each) => each === name);
}

function chosen(): Language {
  // Tests of single functions run without a page.
  if (typeof document === 'undefined') return 'en';
  const own = known(storedText('localStorage', place));
  return own ?? navigator.languages.map(known).find((each) => each !== undefined) ?? 'en';
}

export const language = chosen();
/** For numbers and times: the browser's own variant of the language, such as `en-GB`, where it has one. */
export const locale =
  typeof document === 'undefined' ? 'en' : (navigator.languages.find((tag) => known(tag) === language) ?? language);

if (typeof document !== 'undefined') document.documentElement.lang = language;

/** Reloads the page, because texts are read when it loads. Drafts survive. */
export function chooseLanguage(next: Language): void {
  storeText('localStorage', place, next);
  location.reload();
}

/** Picks the text in the current language, for texts that live next to their code, such as the name of a node type. */
export function said<T>(texts: Readonly<Record<Language, T>>): T {
  return texts[language];
}
