/** When the command palette is open, and what is typed until it is there: it is fetched with the first key of its shortcut. */
import { useEffect, useRef, useState } from 'react';
import { later } from '../parts/later.tsx';

export const Palette = later(async () => (await import('./palette.tsx')).PaletteDialog);

export function usePalette() {
  const [opened, setOpened] = useState(false);
  /** Keys that come between the shortcut and the field of the palette; null where none are awaited. */
  const early = useRef<string[] | null>(null);
  const change = (isOpen: boolean): void => {
    early.current = isOpen ? [] : null;
    setOpened(isOpen);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Control' || event.key === 'Meta') void Palette.preload();
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
      if (event.key.toLowerCase() === 'k' && hasModifier && !event.altKey) {
        event.preventDefault();
        change(!opened);
      } else if (early.current !== null && event.key === 'Escape') {
        change(false);
      } else if (early.current !== null && !hasModifier && (event.key.length === 1 || event.key === 'Enter')) {
        event.preventDefault();
        early.current.push(event.key);
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [opened]);
  const take = (): readonly string[] => {
    const keys = early.current ?? [];
    early.current = null;
    return keys;
  };
  return { opened, take, open: () => change(true), close: () => change(false) };
}
