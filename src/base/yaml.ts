/**
 * YAML configuration, strictly: unknown and duplicate keys, wrong types and numbers that are not finite are refused,
 * every one with `file:line: reason`.
 */
import type { Static, TSchema } from 'typebox';
import { isNode, LineCounter, parseDocument } from 'yaml';
import { decoder } from './decode.ts';

/** Everything that is wrong with one file, a line each. */
export class YamlError extends Error {
  readonly lines: readonly string[];
  constructor(lines: readonly string[]) {
    super(lines.join('\n'));
    this.name = 'YamlError';
    this.lines = lines;
  }
}

export interface YamlFile {
  readonly value: unknown;
  /** `file:line: reason` for a JSON Pointer into the value. */
  at(path: string, reason: string): string;
}

export function parseYaml(text: string, fileName: string): YamlFile {
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, uniqueKeys: true, merge: false });
  const problems = [...document.errors, ...document.warnings];
  if (problems.length > 0) {
    throw new YamlError(
      problems.map((problem) => `${fileName}:${counter.linePos(problem.pos[0]).line}: ${firstLine(problem.message)}`),
    );
  }
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
        return `${fileName}:${counter.linePos(node.range[0]).line}: ${path === '' ? '' : `${path} `}${reason}`;
    }
    return `${fileName}:1: ${reason}`;
  };
  return { value: document.toJS({ maxAliasCount: 0 }), at };
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

function firstLine(text: string): string {
  return text.split('\n')[0] ?? text;
}
