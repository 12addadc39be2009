/** Adding, arranging, copying and pasting nodes; the rule as a file. */
import { ActionIcon, Button, Menu, Tooltip } from '@mantine/core';
import { useReactFlow } from '@xyflow/react';
import { useEffect, useRef } from 'react';
import { nativeTypes } from '../../../src/rules/node/index.ts';
import { nodeView } from '../node/index.ts';
import { announce } from '../parts/announce.tsx';
import { copyText } from '../parts/copy-text.ts';
import { saveText } from '../parts/file-save.ts';
import type { StoredRule } from '../server/queries.ts';
import { CopyIcon, DownIcon, LayoutIcon, PlusIcon, UpIcon } from '../shell/icons.tsx';
import { t } from '../strings/index.ts';
import { useShowFlow } from './canvas-overview.tsx';
import { copiedText, pastedNodes } from './clipboard.ts';
import { drawnFlow, useDraft, useDraftStore } from './draft-store.ts';
import { addNode, moveNodes, pasteNodes } from './edit-flow.ts';
import { useEditor } from './editor-context.ts';
import { type FlowNode, readDocument } from './flow-document.ts';
import type { CanvasNode } from './flow-node.tsx';
import type { Size } from './layout.ts';
import type { NodeKind } from './node-kinds.ts';

const words = t.editor;
/** Offset of pasted nodes. */
const pasteStep = 40;

export function EditorTools({ rule, view }: { rule: StoredRule; view: 'canvas' | 'list' }) {
  const store = useDraftStore();
  const { history } = useDraft();
  const { selected, readOnly, edit, select } = useEditor();
  const reactFlow = useReactFlow<CanvasNode>();
  const showFlow = useShowFlow();
  const flow = drawnFlow(history.present);
  useClipboard();

  const add = (kind: NodeKind): void => {
    const frame = document.querySelector('[data-testid="canvas"]')?.getBoundingClientRect();
    const last = flow.nodes.findLast(({ type }) => type !== 'end')?.position ?? { x: 0, y: 0 };
    const middle =
      frame === undefined || view === 'list'
        ? { x: last.x + 320, y: last.y }
        : reactFlow.screenToFlowPosition({
            x: frame.left + frame.width / 2 - 120,
            y: frame.top + frame.height / 2 - 40,
          });
    let added = '';
    store.editFlow((document_) => {
      const made = addNode(document_, kind, middle);
      added = made.id;
      return made.document;
    });
    edit(added);
  };
  const arrange = async (): Promise<void> => {
    const { layoutOf } = await import('./layout.ts');
    const sizes = new Map(
      reactFlow.getNodes().flatMap(({ id, measured }): [string, Size][] => {
        const { width, height } = measured ?? {};
        return width === undefined || height === undefined ? [] : [[id, { width, height }]];
      }),
    );
    const pane = document.querySelector('[data-testid="canvas"]')?.getBoundingClientRect() ?? { width: 0, height: 0 };
    store.editFlow((document_) => moveNodes(document_, layoutOf(document_, sizes, pane)));
    requestAnimationFrame(() => void showFlow());
  };
  const copy = (): Promise<void> => {
    const { text, count } = copiedText(flow, selected);
    return copyText(text, words.copied(count));
  };
  const hasStart = flow.nodes.some(({ type }) => type === 'start');
  return (
    <>
      {!readOnly && (
        <Menu position="bottom-start" width={260}>
          <Menu.Target>
            <Button size="compact-sm" variant="default" leftSection={<PlusIcon size={14} />}>
              {words.addNode}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {nativeTypes
              .filter((kind) => kind !== 'start' || !hasStart)
              .map((kind) => (
                <Menu.Item key={kind} onClick={() => add(kind)}>
                  {nodeView(kind).title}
                </Menu.Item>
              ))}
          </Menu.Dropdown>
        </Menu>
      )}
      {!readOnly && view === 'canvas' && (
        <Tooltip label={words.layoutHint}>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<LayoutIcon size={14} />}
            onClick={() => void arrange()}
          >
            {words.layout}
          </Button>
        </Tooltip>
      )}
      {selected.size > 0 && (
        <Tooltip label={words.copyHint}>
          <ActionIcon variant="default" size={26} aria-label={words.copyHint} onClick={() => void copy()}>
            <CopyIcon size={15} />
          </ActionIcon>
        </Tooltip>
      )}
      <FileMenu rule={rule} onImported={() => select([])} />
    </>
  );
}

function FileMenu({ rule, onImported }: { rule: StoredRule; onImported: () => void }) {
  const store = useDraftStore();
  const { history } = useDraft();
  const { readOnly } = useEditor();
  const input = useRef<HTMLInputElement>(null);
  const { name, description, priority, cooldown_ms, trigger_config, flow } = history.present;
  // Loaded on demand, because files are rarely used.
  const save = async (): Promise<void> => {
    if (flow === null) return;
    const { ruleFileText } = await import('../rules/rule-file.ts');
    const text = ruleFileText([{ name, description, priority, cooldown_ms, trigger_config, flow_json: flow }]);
    const file = name.replaceAll(/[^A-Za-z0-9]+/g, '-').toLowerCase() || `rule-${rule.id}`;
    saveText(`${file}.json`, text, 'application/json');
  };
  const load = async (file: File): Promise<void> => {
    try {
      const { readRuleFile } = await import('../rules/rule-file.ts');
      const [first] = readRuleFile(await file.text());
      const document_ = readDocument(first?.flow_json);
      if (first === undefined || document_ === null) throw new Error(words.pasteFailed);
      const { flow_json: _, ...members } = first;
      store.edit((content) => ({ ...content, ...members, flow: document_ }));
      onImported();
      announce(words.imported);
    } catch (error) {
      announce(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <Menu position="bottom-start">
        <Menu.Target>
          <Button size="compact-sm" variant="default">
            {words.file}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<DownIcon size={15} />} disabled={flow === null} onClick={() => void save()}>
            {words.export}
          </Menu.Item>
          {!readOnly && (
            <Menu.Item leftSection={<UpIcon size={15} />} onClick={() => input.current?.click()}>
              {words.import}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <input
        ref={input}
        type="file"
        accept="application/json,.json"
        hidden
        data-testid="import-file"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = '';
          if (file !== undefined) void load(file);
        }}
      />
    </>
  );
}

/** Copy and paste by keyboard, if no field has the focus. */
function useClipboard(): void {
  const store = useDraftStore();
  const { history } = useDraft();
  const { selected, readOnly, select } = useEditor();
  const flow = drawnFlow(history.present);
  useEffect(() => {
    const inField = (event: Event): boolean =>
      event.target instanceof HTMLElement && event.target.closest('input, textarea, [role="dialog"]') !== null;
    const onCopy = (event: ClipboardEvent): void => {
      if (inField(event) || selected.size === 0 || document.getSelection()?.isCollapsed === false) return;
      const { text, count } = copiedText(flow, selected);
      event.clipboardData?.setData('text/plain', text);
      event.preventDefault();
      announce(words.copied(count));
    };
    const onPaste = (event: ClipboardEvent): void => {
      if (inField(event) || readOnly) return;
      const nodes = pastedNodes(event.clipboardData?.getData('text/plain') ?? '');
      event.preventDefault();
      if (nodes === null) return announce(words.pasteFailed);
      const isStart = ({ type }: FlowNode): boolean => type === 'start';
      if (nodes.every(isStart) && flow.nodes.some(isStart)) return announce(words.secondStart);
      let ids: string[] = [];
      store.editFlow((document_) => {
        const pasted = pasteNodes(document_, nodes, { x: pasteStep, y: pasteStep });
        ids = pasted.ids;
        return pasted.document;
      });
      select(ids);
      announce(words.pasted(ids.length));
    };
    document.addEventListener('copy', onCopy);
    document.addEventListener('paste', onPaste);
    return () => {
      document.removeEventListener('copy', onCopy);
      document.removeEventListener('paste', onPaste);
    };
  }, [store, flow, selected, readOnly, select]);
}
