/**
 * Where drafts are kept in this browser (IndexedDB), so that a reload loses nothing. A structured clone keeps what the
 * states share, so a long history costs little more than its last state. Without it the editor works, and forgets.
 */
import type { Content, DraftHistory } from './draft-history.ts';

export interface KeptDraft {
  /** The revision that the draft was begun on, and what it held. */
  readonly revision: number;
  readonly base: Content;
  readonly history: DraftHistory;
}

const databaseName = 'setpoint';
const storeName = 'drafts';
/** Format of what is kept; another one is forgotten. */
const format = 1;

interface Kept extends KeptDraft {
  readonly format: number;
}

let opening: Promise<IDBDatabase | null> | null = null;
/** At hand without waiting: a page that is left waits for nothing. */
let opened: IDBDatabase | null = null;

function database(): Promise<IDBDatabase | null> {
  opening ??= new Promise((resolve) => {
    const request = indexedDB.open(databaseName, format);
    request.addEventListener('upgradeneeded', () => {
      for (const name of request.result.objectStoreNames) request.result.deleteObjectStore(name);
      request.result.createObjectStore(storeName);
    });
    request.addEventListener('success', () => {
      opened = request.result;
      resolve(opened);
    });
    request.addEventListener('error', () => resolve(null));
    request.addEventListener('blocked', () => resolve(null));
  });
  return opening;
}

async function inStore<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | null> {
  const db = opened ?? (await database());
  if (db === null) return null;
  return new Promise((resolve) => {
    const transaction = db.transaction(storeName, mode);
    const request = work(transaction.objectStore(storeName));
    // Written without waiting for an answer, which a page that is left does not hear.
    transaction.commit();
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => resolve(null));
  });
}

export async function keptDraft(ruleId: number): Promise<KeptDraft | null> {
  const kept: unknown = await inStore('readonly', (store) => store.get(ruleId));
  return isKept(kept) ? kept : null;
}

export async function keepDraft(ruleId: number, draft: KeptDraft): Promise<void> {
  const kept: Kept = { ...draft, format };
  await inStore('readwrite', (store) => store.put(kept, ruleId));
}

export async function forgetDraft(ruleId: number): Promise<void> {
  await inStore('readwrite', (store) => store.delete(ruleId));
}

/** Written by this very file in this very format: its inner form is not looked at again. */
function isKept(value: unknown): value is Kept {
  return typeof value === 'object' && value !== null && 'format' in value && value.format === format;
}
