/** The draft of one rule while its page is open: content with undo and redo, its base revision, and its storage. */
import { createContext, useContext, useSyncExternalStore } from 'react';
import { after, nowMs } from '../clock.ts';
import type { StoredRule } from '../server/queries.ts';
import { beginHistory, type Content, type DraftHistory, edited, redone, sameContent, undone } from './draft-history.ts';
import {
  type DraftOwner,
  type DraftTabs,
  dropLeftDraft,
  forgetDraft,
  joinTabs,
  type KeptDraft,
  keepDraft,
  keptDraft,
  leaveDraft,
} from './draft-place.ts';
import { drawnDocument, type FlowDocument, newDocument } from './flow-document.ts';

const keepAfterMs = 300;

export interface DraftState {
  readonly history: DraftHistory;
  readonly base: Content;
  readonly revision: number;
  readonly isDirty: boolean;
  /** The draft was stored in this browser earlier. */
  readonly restored: boolean;
}

export interface DraftStore {
  readonly ruleId: number;
  state(): DraftState;
  subscribe(listener: () => void): () => void;
  /** Changes the content; `about` names the field, so that typing is one step of undo. */
  edit(change: (content: Content) => Content, about?: string): void;
  editFlow(change: (flow: FlowDocument) => FlowDocument, about?: string): void;
  undo(): void;
  redo(): void;
  /** The content was stored, as this revision. */
  saved(content: Content, revision: number): void;
  /** Rebases the draft on another stored version, without changing its content. */
  rebase(base: Content, revision: number): void;
  /** The stored version replaces the draft's content, as one step that can be undone. */
  adopt(base: Content, revision: number): void;
  /** Reports the stored version; without a conflict it is adopted silently. */
  noteStored(base: Content, revision: number): void;
  /** Stores pending changes, if there are any. */
  flush(): void;
  /** Like `flush`, for a closing page, which may end before the write completes. */
  leave(): void;
  /** Takes over what other tabs of this browser store of this draft, until the returned function is called, which stores pending changes. */
  share(): () => void;
}

export function contentOf(rule: StoredRule): Content {
  return {
    name: rule.name,
    description: rule.description,
    priority: rule.priority,
    cooldown_ms: rule.cooldown_ms,
    trigger_config: rule.trigger_config,
    flow: rule.flow_json === null ? null : drawnDocument(rule.flow_json),
  };
}

export function createDraftStore(owner: DraftOwner, rule: StoredRule, kept: KeptDraft | null): DraftStore {
  const stored = contentOf(rule);
  const listeners = new Set<() => void>();
  let cancelKeep: () => void = () => undefined;
  let state: DraftState =
    kept === null
      ? { history: beginHistory(stored), base: stored, revision: rule.revision, isDirty: false, restored: false }
      : restoredState(kept, stored, rule.revision);

  /** The newest state that is confirmed as stored. */
  let held = state;
  /** One for each page that shows the draft. */
  const shared = new Set<DraftTabs>();

  const keep = async (): Promise<void> => {
    const now = state;
    const { history, base, revision } = now;
    cancelKeep = () => undefined;
    const done = await (isUnused(now) ? forgetDraft(owner) : keepDraft(owner, { revision, base, history }));
    if (!done) return;
    held = now;
    if (held === state) dropLeftDraft(owner);
    for (const tabs of shared) tabs.stored();
  };
  /** A tab that has changed nothing must not write: the stored draft may be that of another tab. */
  const keepPending = async (): Promise<void> => {
    cancelKeep();
    if (held !== state) await keep();
  };
  const show = (next: Omit<DraftState, 'isDirty'>): void => {
    state = { ...next, isDirty: !sameContent(next.history.present, next.base) };
    for (const listener of listeners) listener();
  };
  /** What is changed here at this moment stays: it is stored last. */
  const takeOver = async (): Promise<void> => {
    const other = await keptDraft(owner);
    if (other === null || held !== state) return;
    const { history, base, revision } = other;
    show({ history: { ...history, last: null }, base, revision, restored: state.restored });
    held = state;
  };
  const become = (next: Omit<DraftState, 'isDirty'>): void => {
    show(next);
    cancelKeep();
    cancelKeep = after(keepAfterMs, () => void keep());
  };
  const edit: DraftStore['edit'] = (change, about) => {
    const history = edited(state.history, change(state.history.present), about ?? null, nowMs());
    if (history !== state.history) become({ ...state, history });
  };
  return {
    ruleId: owner.ruleId,
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    edit,
    editFlow(change, about) {
      edit((content) => {
        const flow = content.flow ?? newDocument();
        const changed = change(flow);
        return changed === flow ? content : { ...content, flow: changed };
      }, about);
    },
    undo: () => become({ ...state, history: undone(state.history) }),
    redo: () => become({ ...state, history: redone(state.history) }),
    saved: (content, revision) => become({ ...state, base: content, revision, restored: false }),
    rebase: (base, revision) => become({ ...state, base, revision }),
    adopt(base, revision) {
      const history = edited(state.history, base, null, nowMs());
      become({ ...state, history, base, revision, restored: false });
    },
    noteStored(base, revision) {
      if (revision <= state.revision) return;
      // Only enabled or disabled since: the draft's content is not affected.
      if (sameContent(base, state.base)) become({ ...state, base, revision });
      else if (!state.isDirty) {
        const isHeld = held === state;
        show({ ...state, history: edited(state.history, base, null, nowMs()), base, revision });
        // Not stored: it would replace what another tab stores at this moment.
        if (isHeld) held = state;
      }
    },
    flush: () => void keepPending(),
    leave() {
      if (held === state) return;
      const { history, base, revision } = state;
      leaveDraft(owner, { revision, base, history });
      void keepPending();
    },
    share() {
      const tabs = joinTabs(owner, () => void takeOver());
      shared.add(tabs);
      // An outdated draft without changes: the stored version has replaced it.
      if (kept !== null && isUnused(state)) void keep();
      return () => {
        void keepPending().then(() => {
          shared.delete(tabs);
          tabs.close();
        });
      };
    },
  };
}

/** Undo survives a save, so a history is kept too; of an unedited rule nothing is. */
function isUnused({ isDirty, history: { past, future } }: DraftState): boolean {
  return !isDirty && past.length === 0 && future.length === 0;
}

/** A draft equal to the stored version counts as none; its history stays for undo. */
function restoredState(kept: KeptDraft, stored: Content, storedRevision: number): DraftState {
  const { history } = kept;
  if (kept.revision === storedRevision || sameContent(history.present, stored)) {
    const isDirty = !sameContent(history.present, stored);
    return { history: { ...history, last: null }, base: stored, revision: storedRevision, isDirty, restored: isDirty };
  }
  const isDirty = !sameContent(history.present, kept.base);
  // Without changes of one's own the stored version is simply newer.
  if (!isDirty)
    return { history: beginHistory(stored), base: stored, revision: storedRevision, isDirty: false, restored: false };
  return { history: { ...history, last: null }, base: kept.base, revision: kept.revision, isDirty, restored: true };
}

export const draftContext = createContext<DraftStore | null>(null);

export function useDraftStore(): DraftStore {
  const store = useContext(draftContext);
  if (store === null) throw new Error('there is no draft here');
  return store;
}

export function useDraft(): DraftState {
  const store = useDraftStore();
  return useSyncExternalStore(store.subscribe, store.state);
}

/** The drawn flow; for a rule without one, the initial flow. */
export function drawnFlow(content: Content): FlowDocument {
  return content.flow ?? beginning;
}

const beginning = newDocument();
