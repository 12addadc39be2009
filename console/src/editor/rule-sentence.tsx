/** The rule in plain language above the canvas: two lines of it, or all of it. */
import { useState } from 'react';
import { t } from '../strings/index.ts';
import classes from './editor.module.css';

const words = t.editor.sentence;
/** About two lines beside the panel; a shorter sentence has no button. */
const longLength = 240;

export function RuleSentence({ text }: { text: string }) {
  const [isOpen, setOpen] = useState(false);
  const isLong = text.length > longLength;
  return (
    <div className={classes['sentence']}>
      <p aria-label={words.label} data-testid="sentence" data-clamped={isLong && !isOpen}>
        {text}
      </p>
      {isLong && (
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? words.showLess : words.showAll}
        </button>
      )}
    </div>
  );
}
