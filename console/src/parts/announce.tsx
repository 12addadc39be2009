/**
 * Messages about completed actions: shown for a while and announced to screen readers. One with warnings of the service is a dialog, which
 * stays until it is closed.
 */
import { useSyncExternalStore } from 'react';
import { after } from '../clock.ts';
import classes from './announce.module.css';
import { later } from './later.tsx';
import type { WarnedParts } from './warned-dialog.tsx';

const shownMs = 6000;
// Loaded on demand: few actions have warnings.
const WarnedDialog = later(async () => (await import('./warned-dialog.tsx')).WarnedDialog, 0);

interface Message {
  readonly id: number;
  readonly text: string;
}

interface State {
  readonly messages: readonly Message[];
  readonly warned: Omit<WarnedParts, 'onClose'> | null;
}

let state: State = { messages: [], warned: null };
let lastId = 0;
const listeners = new Set<() => void>();

function become(next: Partial<State>): void {
  state = { ...state, ...next };
  for (const listener of listeners) listener();
}

export function announce(text: string, warnings: WarnedParts['warnings'] = []): void {
  if (warnings.length > 0) {
    become({ warned: { text, warnings } });
    return;
  }
  const id = ++lastId;
  become({ messages: [...state.messages.filter((message) => message.text !== text), { id, text }] });
  after(shownMs, () => become({ messages: state.messages.filter((message) => message.id !== id) }));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function Announcements() {
  const { messages, warned } = useSyncExternalStore(subscribe, () => state);
  return (
    <>
      <div className={classes['place']} role="status" aria-live="polite">
        {messages.map(({ id, text }) => (
          <div key={id} className={classes['message']}>
            {text}
          </div>
        ))}
      </div>
      {warned !== null && <WarnedDialog {...warned} onClose={() => become({ warned: null })} />}
    </>
  );
}
