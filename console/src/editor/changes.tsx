/** A list of changes: what was stored, what is yours. */
import { t } from '../strings/index.ts';
import classes from './changes.module.css';
import type { Change } from './difference.ts';

const words = t.editor.difference;

export function Changes({ changes }: { changes: readonly Change[] }) {
  return (
    <ul className={classes['list']} data-testid="changes" tabIndex={0} aria-label={words.label}>
      {changes.map(({ what, before, after }, index) => (
        <li key={`${index} ${what}`} className={classes['change']}>
          <span className={classes['what']}>{what}</span>
          {(before !== null || after !== null) && (
            <>
              {before !== null && (
                <Side className={classes['before'] ?? ''} sign="−" label={words.before} text={before} />
              )}
              {after !== null && <Side className={classes['after'] ?? ''} sign="+" label={words.after} text={after} />}
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
