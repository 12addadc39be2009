/** The editor of one rule: the rule in words, the flow as drawing or list, and the panel beside it. */
import { SegmentedControl, Tabs } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ReactFlowProvider } from '@xyflow/react';
import { type ReactNode, useCallback, useDeferredValue, useEffect, useMemo, useState } from 'react';
import type { Topology } from '../../../src/rules/topology.ts';
import { parseTrigger } from '../../../src/rules/trigger/parse.ts';
import { type PanelName, panels } from '../addresses.ts';
import { after } from '../clock.ts';
import { useChosenRun, useHistory } from '../history/history-queries.ts';
import { type AnyRecord, runContext, type ShownRun, shownRun } from '../live/run-view.ts';
import { useLastRun, useWatch } from '../live/stream.ts';
import { later } from '../parts/later.tsx';
import { refreshRule, type StoredRule, useRuleVariables } from '../server/queries.ts';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { t } from '../strings/index.ts';
import { logicOf, useDraftRun } from '../trial/draft-run.ts';
import type { Content } from './draft-history.ts';
import { drawnFlow, useDraft, useDraftStore } from './draft-store.ts';
import classes from './editor.module.css';
import { type EditorView, editorContext, useEditor } from './editor-context.ts';
import { EditorHeader } from './editor-header.tsx';
import { EditorNotices } from './editor-notices.tsx';
import { EditorTools } from './editor-tools.tsx';
import { readDocument } from './flow-document.ts';
import { checkContent } from './problems.ts';
import { ProblemsPanel } from './problems-panel.tsx';
import { RuleForm } from './rule-form.tsx';
import { ruleInWords } from './rule-in-words.ts';
import { RuleSentence } from './rule-sentence.tsx';
import { ShownSign } from './shown-sign.tsx';
import type { ConsoleCatalogue } from './site-catalogue.ts';

const words = t.editor;

const Canvas = later(async () => (await import('./canvas.tsx')).Canvas);
const SaveDialog = later(async () => (await import('./save-dialog.tsx')).SaveDialog);
const ConflictDialog = later(async () => (await import('./conflict-dialog.tsx')).ConflictDialog);
const PastFlow = later(async () => (await import('../revisions/past-flow.tsx')).PastFlow);
const FlowList = later(async () => (await import('./flow-list.tsx')).FlowList);
const Inspector = later(async () => (await import('./inspector.tsx')).Inspector);
const TrialPanel = later(async () => (await import('../trial/trial-panel.tsx')).TrialPanel);
const HistoryPanel = later(async () => (await import('../history/history-panel.tsx')).HistoryPanel);
/** Other code is loaded once the rule is shown, while the service is reachable. The history needs the service anyway. */
const restAfterMs = 1000;
const rest = [Inspector, Canvas];

interface EditorParts {
  readonly rule: StoredRule;
  readonly catalogue: ConsoleCatalogue;
}

interface ShownParts {
  readonly trial: AnyRecord | null;
  readonly chosen: string | null;
  readonly hidden: boolean;
  /** Null if the drawing is the stored flow. */
  readonly draft: { readonly run: ShownRun | null } | null;
}

/** The last run, the chosen one, or the trial; for a draft its outcome on live values. */
function useRun({ id, revision }: StoredRule, { trial, chosen, hidden, draft }: ShownParts): ShownRun | null {
  const pushed = useLastRun(id);
  const history = useHistory(id);
  const variables = useRuleVariables(id);
  const newest = history.data?.pages[0]?.list[0];
  const past = useChosenRun(id, chosen);
  const ran = pushed?.rule_revision ?? 0;
  // Somebody else has saved the rule.
  useEffect(() => {
    if (ran > revision) void refreshRule(id);
  }, [id, ran, revision]);
  return useMemo(() => {
    if (trial !== null) return shownRun(trial, 'trial');
    if (chosen !== null) return past === null ? null : shownRun(past, 'history');
    if (hidden) return null;
    if (draft !== null) return draft.run;
    // Until a run is pushed, the newest recorded one is the last.
    const last = pushed ?? newest;
    // A run of another revision is not drawn on this one.
    return last?.rule_revision === revision ? shownRun(last, 'live', variables.data) : null;
  }, [trial, chosen, past, hidden, draft, newest, pushed, revision, variables.data]);
}

/** The draft's outcome on live values, if the draft differs from the stored flow. */
function useDrawnDraft(rule: StoredRule, content: Content, topology: Topology | null, catalogue: ConsoleCatalogue) {
  const stored = useMemo(
    () => logicOf(rule.flow_json === null ? null : readDocument(rule.flow_json)),
    [rule.flow_json],
  );
  const isOther = useMemo(() => logicOf(content.flow) !== stored, [content.flow, stored]);
  const run = useDraftRun({ rule, content, topology, catalogue }, isOther);
  return useMemo(() => (isOther ? { run } : null), [isOther, run]);
}

/** The parser's result for the draft, and the draft as a sentence. Deferred, so that typing stays responsive. */
function useChecked(catalogue: ConsoleCatalogue) {
  const content = useDeferredValue(useDraft().history.present);
  const checked = useMemo(() => checkContent(content, catalogue), [content, catalogue]);
  const sentence = useMemo(() => {
    if (checked.topology === null) return null;
    const trigger = content.trigger_config === null ? null : parseTrigger(content.trigger_config, catalogue);
    if (trigger !== null && !trigger.ok) return null;
    return ruleInWords(content, trigger?.trigger ?? null, checked.topology, catalogue);
  }, [checked, content, catalogue]);
  return { content, checked, sentence };
}

type Show = (next: PanelName, more?: { run?: string }) => void;

/** The open panel and the selected run. Both are part of the URL. */
function usePanel() {
  const navigate = useNavigate({ from: '/rules/$ruleId' });
  const search = useSearch({ from: '/rules/$ruleId' });
  const usual = search.run !== undefined ? 'history' : search.node !== undefined ? 'node' : 'rule';
  const panel = search.panel ?? usual;
  const show: Show = useCallback(
    (next, more = {}) => void navigate({ search: { panel: next, ...more }, replace: true }),
    [navigate],
  );
  return { panel, chosenRun: search.run, linkedNode: search.node, show };
}

/** State shared by the parts of the editor: site, problems, selection. */
function useEditorView(
  catalogue: ConsoleCatalogue,
  checked: ReturnType<typeof checkContent>,
  { panel, chosenRun, linkedNode, show }: ReturnType<typeof usePanel>,
): EditorView {
  const session = useSession();
  const readOnly = session.status === 'out' || !mayManage(session.facts.role);
  const [chosen, setSelected] = useState<ReadonlySet<string>>(new Set(linkedNode === undefined ? [] : [linkedNode]));
  const { nodes } = drawnFlow(useDraft().history.present);
  // Undo and a deletion leave ids behind.
  const selected = useMemo(() => {
    const drawn = new Set(nodes.map(({ id }) => id));
    return [...chosen].every((id) => drawn.has(id)) ? chosen : new Set([...chosen].filter((id) => drawn.has(id)));
  }, [chosen, nodes]);
  const select = useCallback(
    (ids: readonly string[]) => {
      setSelected(new Set(ids));
      if (ids.length > 0 && panel === 'rule') show('node', chosenRun === undefined ? {} : { run: chosenRun });
    },
    [panel, chosenRun, show],
  );
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const touch = useCallback(
    (path: string) => setTouched((before) => (before.has(path) ? before : new Set([...before, path]))),
    [],
  );
  const edit = useCallback(
    (nodeId: string, path?: string) => {
      setSelected(new Set([nodeId]));
      show('node');
      if (path !== undefined) touch(path);
      focusField(path ?? 'label');
    },
    [show, touch],
  );
  return useMemo(
    () => ({ catalogue, ...checked, selected, readOnly, select, edit, touched, touch }),
    [catalogue, checked, selected, readOnly, select, edit, touched, touch],
  );
}

export function Editor({ rule, catalogue }: EditorParts) {
  const store = useDraftStore();
  const { isDirty, history } = useDraft();
  const { flow } = history.present;
  const { content, checked, sentence } = useChecked(catalogue);
  const where = usePanel();
  const editor = useEditorView(catalogue, checked, where);
  const [dialog, setDialog] = useState<'save' | 'conflict' | null>(null);
  const [trial, setTrial] = useState<AnyRecord | null>(null);
  const [hidden, setHidden] = useState(false);
  useWatch(useMemo(() => [rule.id], [rule.id]));
  const draft = useDrawnDraft(rule, content, checked.topology, catalogue);
  const run = useRun(rule, { trial, chosen: where.chosenRun ?? null, hidden, draft });
  useUndoKeys(store.undo, store.redo);
  useEffect(() => after(restAfterMs, () => void Promise.all(rest.map((part) => part.preload()))), []);
  // Load the code that tries and saves a draft before the connection can fail.
  useEffect(() => {
    if (isDirty) void Promise.all([TrialPanel, SaveDialog, ConflictDialog].map((part) => part.preload()));
  }, [isDirty]);
  const toLive = (): void => {
    setTrial(null);
    setHidden(false);
    where.show(where.panel);
  };
  const past = pastRevision(run, rule, draft !== null);
  const stage = (
    <Stage rule={rule} show={where.show}>
      <ShownSign run={run} hidden={hidden} isDraft={draft !== null} onLive={toLive} onHide={() => setHidden(true)} />
    </Stage>
  );
  return (
    <ReactFlowProvider>
      <editorContext.Provider value={editor}>
        <runContext.Provider value={run}>
          <div className={classes['page']}>
            <EditorHeader rule={rule} problems={checked.problems} onSave={() => setDialog('save')} />
            <RuleSentence
              text={sentence ?? (flow === null && rule.flow_json === null ? words.emptyRule : words.sentence.broken)}
            />
            <EditorNotices rule={rule} run={run} onConflict={() => setDialog('conflict')} />
            <div className={classes['body']}>
              {past === null ? (
                stage
              ) : (
                <PastFlow ruleId={rule.id} revision={past}>
                  {stage}
                </PastFlow>
              )}
              <SidePanel rule={rule} content={content} where={where} onTrial={setTrial} />
            </div>
          </div>
          {dialog === 'save' && (
            <SaveDialog rule={rule} onClose={() => setDialog(null)} onConflict={() => setDialog('conflict')} />
          )}
          {dialog === 'conflict' && <ConflictDialog onClose={() => setDialog(null)} />}
        </runContext.Provider>
      </editorContext.Provider>
    </ReactFlowProvider>
  );
}

/** The revision of a run if it is not the drawn one: the run is drawn on that revision. */
function pastRevision(run: ShownRun | null, { revision }: StoredRule, isDraft: boolean): number | null {
  if (run?.kind !== 'history') return null;
  return isDraft || run.record.rule_revision !== revision ? run.record.rule_revision : null;
}

interface StageParts {
  readonly rule: StoredRule;
  readonly show: Show;
  /** Rendered next to the tools. */
  readonly children: ReactNode;
}

/** The flow, drawn or as a list, with its tools above and its problems below. */
function Stage({ rule, show, children }: StageParts) {
  const isNarrow = useMediaQuery('(max-width: 900px)', false, { getInitialValueInEffect: false });
  const [view, setView] = useState<'canvas' | 'list'>(isNarrow ? 'list' : 'canvas');
  const onRule = (path: string): void => {
    show('rule');
    focusField(path === '' ? 'trigger' : `trigger${path}`);
  };
  return (
    <div className={classes['stage']}>
      <div className={classes['bar']}>
        <SegmentedControl
          size="xs"
          aria-label={words.views.label}
          value={view}
          onChange={(value) => setView(value === 'list' ? 'list' : 'canvas')}
          data={[
            { value: 'canvas', label: words.views.canvas },
            { value: 'list', label: words.views.list },
          ]}
        />
        <EditorTools rule={rule} view={view} />
        {children}
      </div>
      <div className={classes['drawing']}>{view === 'canvas' ? <Canvas /> : <FlowList />}</div>
      <ProblemsPanel onRule={onRule} />
    </div>
  );
}

interface SideParts {
  readonly rule: StoredRule;
  /** The draft that `topology` was parsed from. */
  readonly content: Content;
  readonly where: ReturnType<typeof usePanel>;
  readonly onTrial: (record: AnyRecord | null) => void;
}

function SidePanel({ rule, content, where: { panel, chosenRun, show }, onTrial }: SideParts) {
  const { catalogue, topology } = useEditor();
  return (
    <aside className={classes['panel']} aria-label={words.panels.label}>
      <Tabs
        value={panel}
        keepMounted={false}
        onChange={(value) => {
          const next = panels.find((name) => name === value);
          if (next !== undefined) show(next);
        }}
      >
        <Tabs.List grow>
          {panels.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {words.panels[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <div className={classes['panelBody']} role="tabpanel" aria-label={words.panels[panel]} tabIndex={0}>
        {panel === 'node' && <Inspector />}
        {panel === 'rule' && <RuleForm />}
        {panel === 'try' && (
          <TrialPanel
            ruleId={rule.id}
            revision={rule.revision}
            content={content}
            topology={topology}
            catalogue={catalogue}
            onResult={onTrial}
          />
        )}
        {panel === 'history' && (
          <HistoryPanel
            ruleId={rule.id}
            catalogue={catalogue}
            chosen={chosenRun ?? null}
            onChoose={(id) => show('history', id === null ? {} : { run: id })}
          />
        )}
      </div>
    </aside>
  );
}

/** Number of frames to wait for a field: the panel may have to be loaded first. */
const fieldFramesMax = 120;

/** Focuses the field of a path when it appears; without a field of its own, its container. */
function focusField(path: string): void {
  const attempt = (framesLeft: number): void => {
    for (let place = path; place !== ''; place = place.slice(0, Math.max(0, place.lastIndexOf('/')))) {
      const field = document.querySelector<HTMLElement>(`[data-path^="${CSS.escape(place)}"]`);
      if (field === null) continue;
      field.focus();
      field.scrollIntoView({ block: 'center' });
      return;
    }
    if (framesLeft > 0) requestAnimationFrame(() => attempt(framesLeft - 1));
  };
  // Two frames, after which what was there before is replaced.
  requestAnimationFrame(() => requestAnimationFrame(() => attempt(fieldFramesMax)));
}

/** Ctrl/Cmd-Z and its opposite, outside of fields with an input method in use. */
function useUndoKeys(undo: () => void, redo: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.isComposing) return;
      const key = event.key.toLowerCase();
      if (key !== 'z' && key !== 'y') return;
      event.preventDefault();
      if (key === 'y' || event.shiftKey) redo();
      else undo();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [undo, redo]);
}
