/** Text for the clipboard. Browsers offer it to pages over HTTPS or of the same machine; elsewhere the older copy command does. */
import { t } from '../strings/index.ts';
import { announce } from './announce.tsx';

/** Copies, and says `done` or that it was not possible. */
export async function copyText(text: string, done: string = t.common.copied): Promise<void> {
  announce((await isWritten(text)) || copiedByCommand(text) ? done : t.common.notCopied);
}

async function isWritten(text: string): Promise<boolean> {
  try {
    // Over plain HTTP there is no such member, whatever its type says.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function copiedByCommand(text: string): boolean {
  let isTaken = false;
  const onCopy = (event: ClipboardEvent): void => {
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
    event.stopImmediatePropagation();
    isTaken = true;
  };
  document.addEventListener('copy', onCopy, { capture: true });
  try {
    return document.execCommand('copy') && isTaken;
  } finally {
    document.removeEventListener('copy', onCopy, { capture: true });
  }
}
