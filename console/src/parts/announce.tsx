/** Short messages about completed actions, shown for a while and announced to screen readers. */
import { useSyncExternalStore } from 'react';
import { after } from '../clock.ts';
import classes from './announce.module.css';

const shownMs = 6000;

interface Message {
  readonly id: number;
  readonly text: string;
}

let messages: readonly Message[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function become(next: readonly Message[]): void {
  messages = next;
  for (const listener of listeners) listener();
}

export function announce(text: string): void {
  const id = ++lastId;
  become([...messages.filter((message) => message.text !== text), { id, text }]);
  after(shownMs, () => become(messages.filter((message) => message.id !== id)));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function Announcements() {
  const shown = useSyncExternalStore(subscribe, () => messages);
  return (
    <div className={classes['place']} role="status" aria-live="polite">
      {shown.map(({ id, text }) => (
        <div key={id} className={classes['message']}>
          {text}
        </div>
      ))}
    </div>
  );
}
