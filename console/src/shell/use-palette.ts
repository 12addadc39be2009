/** When the command palette is open, and what is typed until it is there: it is fetched with the first key of its shortcut. */
import { useEffect, useRef, useState } from 'react';
import { later } from '../parts/later.tsx';

const fetched = { isThere: false };
export const Palette = later(async () => {
  const { PaletteDialog } = await import('./palette.tsx');
  fetched.isThere = true;
  return PaletteDialog;
});

export function usePalette() {
  const [opened, setOpened] = useState(false);
  /** Keys that came before the palette: its dialog takes them at its first drawing. */
  const early = useRef<string[]>([]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Control' || event.key === 'Meta') void Palette.preload();
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
      if (event.key.toLowerCase() === 'k' && hasModifier && !event.altKey) {
        event.preventDefault();
        early.current = [];
        setOpened((was) => !was);
      } else if (opened && !fetched.isThere && !hasModifier && (event.key.length === 1 || event.key === 'Enter')) {
        event.preventDefault();
        early.current.push(event.key);
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [opened]);
  const opening = (): void => {
    early.current = [];
    setOpened(true);
  };
  return { opened, early: early.current, open: opening, close: () => setOpened(false) };
}
