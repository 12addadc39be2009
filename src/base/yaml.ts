/**
 * YAML configuration, strictly: unknown and duplicate keys, wrong types and numbers that are not finite are refused,
 * every one with `file:line: reason`.
 */
import type { Static, TSchema } from 'typebox';
import { type Document, isNode, isScalar, isSeq, LineCounter, parseDocument, stringify, visit } from 'yaml';
import { decoder } from './decode.ts';

/** Everything that is wrong with one file, a line each. */
export class YamlError extends Error {
  readonly lines: readonly string[];
  constructor(lines: readonly string[]) {
    const sorted = lines.toSorted((a, b) => lineNumber(a) - lineNumber(b));
    super(sorted.join('\n'));
    this.name = 'YamlError';
    this.lines = sorted;
  }
}

function lineNumber(line: string): number {
  return Number(/:(\d+): /.exec(line)?.[1] ?? 0);
}

export interface YamlFile {
  readonly value: unknown;
  /** `file:line: reason` for a JSON Pointer into the value. */
  at(path: string, reason: string): string;
}

export function parseYaml(text: string, fileName: string): YamlFile {
  const counter = new LineCounter();
  // Core schema and no known tags: every value is what it looks like, and a date stays text.
  const options = {
    lineCounter: counter,
    uniqueKeys: true,
    merge: false,
    schema: 'core',
    prettyErrors: false,
  } as const;
  const document = parseDocument(text, { ...options, resolveKnownTags: false });
  const lineOf = (offset: number): number => counter.linePos(offset).line;
  const problems = [
    ...[...document.errors, ...document.warnings].map((problem) => ({
      line: lineOf(problem.pos[0]),
      reason: problem.message,
    })),
    ...indirections(document).map(({ offset, reason }) => ({ line: lineOf(offset), reason })),
  ];
  if (problems.length > 0) throw new YamlError(problems.map(({ line, reason }) => `${fileName}:${line}: ${reason}`));
  const at = (path: string, reason: string): string => {
    const parts = path
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    // The nearest place that exists: a missing key is reported at the object that lacks it.
    for (let length = parts.length; length >= 0; length--) {
      const keys = parts.slice(0, length).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
      const node = length === 0 ? document.contents : document.getIn(keys, true);
      if (isNode(node) && node.range)
        return `${fileName}:${lineOf(node.range[0])}: ${path === '' ? '' : `${path} `}${reason}`;
    }
    return `${fileName}:1: ${reason}`;
  };
  return { value: document.toJS(), at };
}

const lineWidth = 120;

/** The one text of a value: members in their order, no aliases; `parseYaml` reads the same value back. */
export function formatYaml(value: unknown): string {
  return stringify(value, { schema: 'core', aliasDuplicateObjects: false, lineWidth });
}

/** The text with `values` behind the list at `path`, made where there is none; comments and the order of the rest stay. */
export function appendToYaml(text: string, path: readonly (string | number)[], values: readonly unknown[]): string {
  const document = parseDocument(text, { schema: 'core', resolveKnownTags: false });
  if (document.getIn(path) === undefined) document.setIn(path, document.createNode([]));
  const list = document.getIn(path, true);
  if (!isSeq(list)) throw new Error(`there is no list at ${path.join('/')}`);
  // A list in brackets grows into lines of its own.
  list.flow = false;
  for (const value of values) list.add(document.createNode(value));
  return document.toString({ lineWidth: 0 });
}

/** Parses and decodes a whole file; throws a YamlError that names every wrong place. */
export function readYaml<S extends TSchema>(text: string, fileName: string, schema: S): Static<S> {
  const file = parseYaml(text, fileName);
  const decoded = decoder(schema)(file.value);
  const lines = decoded.ok ? [] : decoded.issues.map((issue) => file.at(issue.path, issue.message));
  lines.push(...notFinite(file.value, '').map((path) => file.at(path, 'must be a finite number')));
  if (!decoded.ok || lines.length > 0) throw new YamlError(lines);
  return decoded.value;
}

/** Paths of NaN and infinities, which YAML can spell and schemas let pass. */
export function notFinite(value: unknown, path: string): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    notFinite(member, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  );
}

/** What YAML allows and a configuration has no use for: aliases, and keys that are not plain text or numbers. */
function indirections(document: Document.Parsed): { offset: number; reason: string }[] {
  const found: { offset: number; reason: string }[] = [];
  visit(document, {
    Alias(_, node) {
      found.push({ offset: node.range?.[0] ?? 0, reason: 'aliases are not allowed' });
    },
    Pair(_, pair) {
      if (!isNode(pair.key) || isScalar(pair.key)) return;
      found.push({ offset: pair.key.range?.[0] ?? 0, reason: 'a key must be text' });
    },
  });
  return found;
}
