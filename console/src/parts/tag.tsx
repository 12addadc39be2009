/** A short state in colour and words, and a longer notice: colour is never the only carrier of meaning. */
import type { ReactNode } from 'react';
import classes from './tag.module.css';

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'calm';

interface TagParts {
  readonly tone: Tone;
  readonly children: ReactNode;
  readonly title?: string | undefined;
  /** A sentence, or a text with a user-defined name: it wraps if there is no room for it. */
  readonly long?: boolean;
}

export function Tag({ tone, children, title, long }: TagParts) {
  return (
    <span className={`${classes['tag']} ${classes[tone]} ${long === true ? classes['long'] : ''}`} title={title}>
      <span className={classes['dot']} aria-hidden />
      {children}
    </span>
  );
}

interface NoticeParts {
  readonly tone: Tone;
  readonly children: ReactNode;
  readonly action?: ReactNode;
  /** `alert` interrupts a screen reader, `status` waits for it. */
  readonly role?: 'alert' | 'status' | 'note';
}

export function Notice({ tone, children, action, role = 'status' }: NoticeParts) {
  return (
    <div className={`${classes['notice']} ${classes[tone]}`} role={role}>
      <div className={classes['body']}>{children}</div>
      {action}
    </div>
  );
}

export function Particulars({ children }: { children: ReactNode }) {
  return <span className={classes['particulars']}>{children}</span>;
}
