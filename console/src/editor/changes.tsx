/** A list of changes with both sides of each: stored and yours by default. */
import { t } from '../strings/index.ts';
import classes from './changes.module.css';

const words = t.editor.difference;

export interface Change {
  readonly what: string;
  /** Null before an addition and after a removal. */
  readonly before: string | null;
  readonly after: string | null;
}

interface ChangesParts {
  readonly changes: readonly Change[];
  /** Names of the two sides for screen readers. */
  readonly sides?: { readonly before: string; readonly after: string };
  readonly label?: string;
}

export function Changes({ changes, sides = words, label = words.label }: ChangesParts) {
  return (
    <ul className={classes['list']} tabIndex={0} aria-label={label}>
      {changes.map(({ what, before, after }, index) => (
        <li key={`${index} ${what}`} className={classes['change']}>
          <span className={classes['what']}>{what}</span>
          {(before !== null || after !== null) && (
            <>
              {before !== null && (
                <Side className={classes['before'] ?? ''} sign="−" label={sides.before} text={before} />
              )}
              {after !== null && <Side className={classes['after'] ?? ''} sign="+" label={sides.after} text={after} />}
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function Side({ className, sign, label, text }: { className: string; sign: string; label: string; text: string }) {
  return (
    <div className={`${classes['side']} ${className}`}>
      <span className={classes['sign']} aria-hidden>
        {sign}
      </span>
      <span className="sp-hidden">{label}: </span>
      <span>{text === '' ? words.nothing : text}</span>
    </div>
  );
}
