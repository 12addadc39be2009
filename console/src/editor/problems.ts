/** Everything that is wrong with a draft, found by the server's own parser, before the server is asked. */

import type { Issue } from '../../../src/rules/issues.ts';
import { parseFlow } from '../../../src/rules/parse.ts';
import type { Topology } from '../../../src/rules/topology.ts';
import { parseTrigger } from '../../../src/rules/trigger/parse.ts';
import { t } from '../strings/index.ts';
import type { Content } from './draft-history.ts';
import type { ConsoleCatalogue } from './site-catalogue.ts';

export interface Problem extends Issue {
  readonly severity: 'error' | 'warning';
  /** Which part of the rule the path is of. */
  readonly part: 'flow' | 'trigger' | 'rule';
}

export interface Checked {
  readonly problems: readonly Problem[];
  /** The topology that would run; null while the flow has errors. */
  readonly topology: Topology | null;
}

export function checkContent(content: Content, catalogue: ConsoleCatalogue): Checked {
  const problems: Problem[] = [];
  const add = (severity: Problem['severity'], part: Problem['part'], issues: readonly Issue[]): void => {
    for (const issue of issues) problems.push({ ...issue, severity, part });
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
    add('error', 'flow', parsed.issues);
    return { problems, topology: null };
  }
  add('warning', 'flow', parsed.warnings);
  return { problems, topology: parsed.topology };
}

export function problemsAt(problems: readonly Problem[], part: Problem['part'], path: string): readonly Problem[] {
  return problems.filter((problem) => problem.part === part && problem.path === path);
}

/** The JSON Pointer of a field inside a node's config, as the parser names it. */
export function configPath(nodeIndex: number, ...parts: readonly (string | number)[]): string {
  return ['', 'nodes', nodeIndex, 'data', 'config', ...parts].join('/');
}
