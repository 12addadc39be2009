/** All problems of a draft, found by the server's own parser in the page. */

import { type Issue, isFields } from '../../../src/rules/issues.ts';
import { parseFlow } from '../../../src/rules/parse.ts';
import type { Topology } from '../../../src/rules/topology.ts';
import { parseTrigger } from '../../../src/rules/trigger/parse.ts';
import { t } from '../strings/index.ts';
import type { Content } from './draft-history.ts';
import type { ConsoleCatalogue } from './site-catalogue.ts';

export interface Problem extends Issue {
  readonly severity: 'error' | 'warning';
  /** The part of the rule that the path refers to. */
  readonly part: 'flow' | 'trigger' | 'rule';
  /** A value is missing: the field shows it once it has been visited. */
  readonly isMissing: boolean;
}

export interface Checked {
  readonly problems: readonly Problem[];
  /** The resulting topology; null while the flow has errors. */
  readonly topology: Topology | null;
}

export function checkContent(content: Content, catalogue: ConsoleCatalogue): Checked {
  const problems: Problem[] = [];
  const add = (severity: Problem['severity'], part: Problem['part'], issues: readonly Issue[]): void => {
    problems.push(...issues.map((issue) => ({ ...issue, severity, part, isMissing: false })));
  };
  if (content.name.trim() === '')
    add('error', 'rule', [{ code: 'invalid-field', path: '/name', message: t.rules.createDialog.nameNeeded }]);
  if (content.trigger_config !== null) {
    const trigger = parseTrigger(content.trigger_config, catalogue);
    if (!trigger.ok) add('error', 'trigger', trigger.issues);
  }
  if (content.flow === null) return { problems, topology: null };
  const parsed = parseFlow(content.flow, catalogue);
  if (!parsed.ok) {
    problems.push(...flowErrors(parsed.issues, content.flow));
    return { problems, topology: null };
  }
  add('warning', 'flow', parsed.warnings);
  return { problems, topology: parsed.topology };
}

/** The parser's issues for people who fill in forms: missing fields are prompts, and fields have their labels. */
function flowErrors(issues: readonly Issue[], flow: unknown): Problem[] {
  const paths = new Set(issues.map(({ path }) => path));
  return issues.flatMap((issue): Problem[] => {
    const part = { severity: 'error', part: 'flow' } as const;
    const [parent, field] = [issue.path.replace(/\/[^/]*$/, ''), issue.path.replace(/^.*\//, '')];
    const value = valueAt(flow, issue.path);
    const isMissing = (value === undefined || value === null || value === '') && Object.hasOwn(missing, field);
    // An instance and a point are chosen together.
    if (isMissing && (field === 'instance' || field === 'point_type') && paths.has(`${parent}/point`)) return [];
    const message = isMissing ? missing[field] : undefined;
    if (message !== undefined)
      return [{ code: issue.code, path: issue.path, ...nodeOfIssue(issue), message, ...part, isMissing }];
    const label = labels[/^'(\w+)' must/.exec(issue.message)?.[1] ?? ''];
    const text = label === undefined ? issue.message : issue.message.replace(/^'\w+'/, label);
    return [{ ...issue, message: text, ...part, isMissing: false }];
  });
}

function nodeOfIssue({ node_id: id }: Issue): Pick<Issue, 'node_id'> {
  return id === undefined ? {} : { node_id: id };
}

/** The prompt for an empty field, by its name in the document. */
const missing: Readonly<Record<string, string | undefined>> = {
  point: t.nodes.missing.point,
  instance: t.nodes.missing.point,
  point_type: t.nodes.missing.point,
  parameter: t.nodes.missing.parameter,
  name: t.nodes.nameFaults.empty,
  when: t.nodes.missing.condition,
  expression: t.nodes.missing.expression,
  value: t.nodes.missing.value,
};

const labels: Readonly<Record<string, string | undefined>> = {
  max_age_ms: t.nodes.maxAge,
  name: t.nodes.variable,
  value: t.nodes.value,
  when: t.nodes.when,
  expression: t.nodes.expression,
  point: t.nodes.point,
  parameter: t.nodes.parameter,
};

function valueAt(document: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (value, part) =>
        Array.isArray(value)
          ? value[Number(part)]
          : isFields(value) && Object.hasOwn(value, part)
            ? value[part]
            : undefined,
      document,
    );
}

export function problemsAt(problems: readonly Problem[], part: Problem['part'], path: string): readonly Problem[] {
  return problems.filter((problem) => problem.part === part && problem.path === path);
}

/** The JSON Pointer of a field inside a node's config, as the parser names it. */
export function configPath(nodeIndex: number, ...parts: readonly (string | number)[]): string {
  return ['', 'nodes', nodeIndex, 'data', 'config', ...parts].join('/');
}
