/** When the command palette is open. It is fetched with the first key of its shortcut: what is typed right after that arrives there. */
import { useEffect, useState } from 'react';
import { later } from '../parts/later.tsx';

export const Palette = later(async () => (await import('./palette.tsx')).PaletteDialog);

export function usePalette() {
  const [opened, setOpened] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Control' || event.key === 'Meta') void Palette.preload();
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      setOpened((was) => !was);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return { opened, open: () => setOpened(true), close: () => setOpened(false) };
}
