/** Selection of a kind for a new node, after dropping a wire into empty space or by keyboard. */
import { type KeyboardEvent, useEffect, useRef } from 'react';
import { nodeView } from '../node/index.ts';
import type { NodeKind } from './node-kinds.ts';
import classes from './node-palette.module.css';

interface PaletteParts {
  readonly title: string;
  readonly kinds: readonly NodeKind[];
  /** Place inside the canvas, in pixels. */
  readonly x: number;
  readonly y: number;
  readonly onChoose: (kind: NodeKind) => void;
  readonly onClose: () => void;
}

export function NodePalette({ title, kinds, x, y, onChoose, onClose }: PaletteParts) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.querySelector('button')?.focus();
    const onDown = (event: PointerEvent): void => {
      if (event.target instanceof Node && place.current?.contains(event.target) !== true) onClose();
    };
    document.addEventListener('pointerdown', onDown, true);
    return () => document.removeEventListener('pointerdown', onDown, true);
  }, [onClose]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const buttons = [...(place.current?.querySelectorAll('button') ?? [])];
    const at = buttons.findIndex((button) => button === document.activeElement);
    if (event.key === 'Escape') onClose();
    else if (event.key === 'ArrowDown') buttons[(at + 1) % buttons.length]?.focus();
    else if (event.key === 'ArrowUp') buttons[(at + buttons.length - 1) % buttons.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={place}
      className={classes['palette']}
      style={{ left: x, top: y }}
      role="menu"
      aria-label={title}
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      <div className={classes['title']} aria-hidden>
        {title}
      </div>
      {kinds.map((kind) => (
        <button key={kind} type="button" role="menuitem" className={classes['choice']} onClick={() => onChoose(kind)}>
          {nodeView(kind).title}
          <span className={classes['about']}>{nodeView(kind).about}</span>
        </button>
      ))}
    </div>
  );
}
