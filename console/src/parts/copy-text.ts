/** Copies to the clipboard. Browsers offer its API to pages over HTTPS or from the same machine; elsewhere an older command is used. */
import { t } from '../strings/index.ts';
import { announce } from './announce.tsx';

/** Copies, and announces `done` or the failure. */
export async function copyText(text: string, done: string = t.common.copied): Promise<void> {
  announce((await isWritten(text)) || copiedByCommand(text) ? done : t.common.notCopied);
}

async function isWritten(text: string): Promise<boolean> {
  try {
    // Over plain HTTP this member is missing, despite its type.
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
