/**
 * Stores drafts in this browser (IndexedDB), each person's apart, so that a reload loses nothing. A structured clone preserves shared parts, so
 * a long history costs little more than its last state. Without IndexedDB the editor works but does not store drafts.
 *
 * A closing page may end before an IndexedDB write completes. Its unconfirmed content therefore also goes to localStorage,
 * which is synchronous; the next page adds that content to the history.
 */
import { dropText, storedText, storeText } from '../browser-storage.ts';
import { nowMs } from '../clock.ts';
import { beginHistory, type Content, type DraftHistory, edited, sameContent } from './draft-history.ts';

export interface KeptDraft {
  /** The revision on which the draft is based, and its content. */
  readonly revision: number;
  readonly base: Content;
  readonly history: DraftHistory;
}

const databaseName = 'setpoint';
const storeName = 'drafts';
/** Storage format; drafts in another one are ignored. */
const format = 1;

interface Kept extends KeptDraft {
  readonly format: number;
}

let opening: Promise<IDBDatabase | null> | null = null;
/** Available synchronously, for a closing page. */
let opened: IDBDatabase | null = null;

function database(): Promise<IDBDatabase | null> {
  opening ??= new Promise((resolve) => {
    const request = openRequest();
    if (request === null) return resolve(null);
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

/** Null where the browser blocks site data. */
function openRequest(): IDBOpenDBRequest | null {
  try {
    return indexedDB.open(databaseName, format);
  } catch {
    return null;
  }
}

/** The result of the request once its transaction is complete; null without a database or after a failure. */
async function inStore<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>) {
  const db = opened ?? (await database());
  if (db === null) return null;
  return new Promise<{ readonly result: T } | null>((resolve) => {
    const transaction = db.transaction(storeName, mode);
    const request = work(transaction.objectStore(storeName));
    // Written without waiting for the result, which a closing page does not receive.
    transaction.commit();
    transaction.addEventListener('complete', () => resolve({ result: request.result }));
    transaction.addEventListener('abort', () => resolve(null));
  });
}

/** Person and rule of the draft: several people may use one browser. */
export interface DraftOwner {
  readonly subject: string;
  readonly ruleId: number;
}

function keyOf({ subject, ruleId }: DraftOwner): string {
  return `${ruleId}:${subject}`;
}

export async function keptDraft(owner: DraftOwner): Promise<KeptDraft | null> {
  const found = await inStore('readonly', (store) => store.get(keyOf(owner)));
  const kept: unknown = found?.result;
  return withLeft(isKept(kept) ? kept : null, leftDraft(owner));
}

/** True once the draft is stored. */
export async function keepDraft(owner: DraftOwner, draft: KeptDraft): Promise<boolean> {
  const kept: Kept = { ...draft, format };
  return (await inStore('readwrite', (store) => store.put(kept, keyOf(owner)))) !== null;
}

/** True once no draft is stored. */
export async function forgetDraft(owner: DraftOwner): Promise<boolean> {
  return (await inStore('readwrite', (store) => store.delete(keyOf(owner)))) !== null;
}

/** The same draft in other tabs of this browser: one edits, the others show it. */
export interface DraftTabs {
  /** The draft was stored by this tab. */
  stored(): void;
  close(): void;
}

/** `onStored` is called when another tab has stored this draft. */
export function joinTabs(owner: DraftOwner, onStored: () => void): DraftTabs {
  const channel = new BroadcastChannel(`setpoint.draft.${keyOf(owner)}`);
  channel.addEventListener('message', onStored);
  return { stored: () => channel.postMessage(null), close: () => channel.close() };
}

/** Written by this file in this format: its structure is not validated again. */
function isKept(value: unknown): value is Kept {
  return typeof value === 'object' && value !== null && 'format' in value && value.format === format;
}

/** The content that a closing page wrote to localStorage. */
export interface LeftDraft {
  readonly revision: number;
  readonly base: Content;
  readonly present: Content;
}

const leftAt = (owner: DraftOwner): string => `setpoint.draft.${keyOf(owner)}`;

/** Synchronous, for a closing page. If localStorage is full or blocked, only IndexedDB has the draft. */
export function leaveDraft(owner: DraftOwner, { revision, base, history }: KeptDraft): void {
  const left: LeftDraft & { readonly format: number } = { format, revision, base, present: history.present };
  // If this fails there is no other place to write to: the page is closing.
  storeText('localStorage', leftAt(owner), JSON.stringify(left));
}

/** Removes the localStorage copy once IndexedDB has the same or newer content. */
export function dropLeftDraft(owner: DraftOwner): void {
  dropText('localStorage', leftAt(owner));
}

function leftDraft(owner: DraftOwner): LeftDraft | null {
  try {
    const left: unknown = JSON.parse(storedText('localStorage', leftAt(owner)) ?? 'null');
    return isLeft(left) ? left : null;
  } catch {
    return null;
  }
}

function isLeft(value: unknown): value is LeftDraft {
  return typeof value === 'object' && value !== null && 'format' in value && value.format === format;
}

/** Adds the newer content from localStorage to the stored history, as one step that can be undone. */
export function withLeft(kept: KeptDraft | null, left: LeftDraft | null): KeptDraft | null {
  if (left === null) return kept;
  const { revision, base, present } = left;
  const before = kept?.history ?? beginHistory(base);
  const history = sameContent(before.present, present) ? before : edited(before, present, null, nowMs());
  return { revision, base, history };
}
