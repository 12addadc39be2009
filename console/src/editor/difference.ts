/** What a draft changes against what is stored, in the order and the words of the editor. */
import { type Fields, isFields } from '../../../src/rules/issues.ts';
import { t } from '../strings/index.ts';
import type { Content } from './draft-history.ts';
import { type FlowDocument, type FlowNode, labelOf } from './flow-document.ts';

const words = t.editor.difference;

export interface Change {
  readonly what: string;
  /** Null where there was, or will be, nothing. */
  readonly before: string | null;
  readonly after: string | null;
}

export function differences(before: Content, after: Content): Change[] {
  const changes: Change[] = [];
  const note = (what: string, a: unknown, b: unknown): void => {
    if (JSON.stringify(a) !== JSON.stringify(b)) changes.push({ what, before: shown(a), after: shown(b) });
  };
  note(words.name, before.name, after.name);
  note(words.description, before.description, after.description);
  note(words.priority, before.priority, after.priority);
  note(words.cooldown, before.cooldown_ms, after.cooldown_ms);
  note(words.trigger, before.trigger_config, after.trigger_config);
  return [...changes, ...flowChanges(before.flow, after.flow)];
}

function flowChanges(before: FlowDocument | null, after: FlowDocument | null): Change[] {
  const changes: Change[] = [];
  const old = new Map((before?.nodes ?? []).map((node) => [node.id, node]));
  const kept = new Set<string>();
  let moved = 0;
  for (const node of after?.nodes ?? []) {
    const was = old.get(node.id);
    kept.add(node.id);
    if (was === undefined)
      changes.push({ what: words.added(titleOf(node)), before: null, after: shown(node.data ?? {}) });
    else {
      if (was.position.x !== node.position.x || was.position.y !== node.position.y) moved++;
      changes.push(...nodeChanges(was, node));
    }
  }
  for (const [id, node] of old)
    if (!kept.has(id))
      changes.push({ what: words.removed(titleOf(node)), before: shown(node.data ?? {}), after: null });
  if (moved > 0) changes.push({ what: words.moved(moved), before: null, after: null });
  const restBefore = rest(before);
  const restAfter = rest(after);
  if (restBefore !== restAfter && changes.length === 0)
    changes.push({ what: words.drawing, before: null, after: null });
  return changes;
}

function nodeChanges(before: FlowNode, after: FlowNode): Change[] {
  const title = titleOf(after);
  const { position: _, ...a } = before;
  const { position: __, ...b } = after;
  const changes: Change[] = [];
  compare(a, b, '', (path, x, y) =>
    changes.push({ what: `${title}${path === '' ? '' : `, ${path}`}`, before: shown(x), after: shown(y) }),
  );
  return changes;
}

type Report = (path: string, before: unknown, after: unknown) => void;

/** Names the smallest parts that differ; lists of other lengths are told as a whole. */
function compare(before: unknown, after: unknown, path: string, report: Report): void {
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  if (isFields(before) && isFields(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      compare(before[name], after[name], named(path, name, after), report);
    return;
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length && before.every(isFields)) {
    before.forEach((entry: Fields, index) =>
      compare(entry, after[index], named(path, entryName(entry, index), entry), report),
    );
    return;
  }
  report(path, before, after);
}

/** `data` and `config` are the format's, not the reader's. */
function named(path: string, name: string, _of: unknown): string {
  if (name === 'data' || name === 'config') return path;
  return path === '' ? name : `${path} · ${name}`;
}

function entryName(entry: Fields, index: number): string {
  return typeof entry['name'] === 'string' && entry['name'] !== '' ? `“${entry['name']}”` : String(index + 1);
}

function titleOf(node: FlowNode): string {
  const label = labelOf(node);
  return label === '' ? node.id : `“${label}”`;
}

/** What is neither node nor rule: edges, viewport, metadata. */
function rest(document: FlowDocument | null): string {
  if (document === null) return '';
  const { nodes: _, ...others } = document;
  return JSON.stringify(others);
}

function shown(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
