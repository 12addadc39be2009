/** The names that an expression of a node may use: declarations of every node before it, with their sources. */

import type { PointRef } from '../../../src/site/catalogue.ts';
import { nodeView } from '../node/index.ts';
import { configOf, entriesOf, type FlowDocument, type FlowNode, labelOf, textOf, wiresOf } from './flow-document.ts';
import { nativeKindOf } from './node-kinds.ts';
import type { ConsoleCatalogue } from './site-catalogue.ts';

export interface VisibleName {
  readonly name: string;
  /** In words: a point, a parameter or an expression. */
  readonly source: string;
  readonly unit: string;
  /** The point that it is read from; absent for computed values. */
  readonly point?: PointRef;
}

export function visibleNames(document: FlowDocument, nodeId: string, catalogue: ConsoleCatalogue): VisibleName[] {
  const found = new Map<string, VisibleName>();
  const upstream = nodesBefore(document, nodeId);
  for (const node of document.nodes) {
    if (!upstream.has(node.id)) continue;
    for (const declared of declaredNames(node, catalogue)) found.set(declared.name, declared);
  }
  return [...found.values()].toSorted((a, b) => a.name.localeCompare(b.name));
}

function nodesBefore(document: FlowDocument, nodeId: string): Set<string> {
  const before = new Map<string, string[]>();
  for (const node of document.nodes)
    for (const target of Object.values(wiresOf(node)).flat())
      before.set(target, [...(before.get(target) ?? []), node.id]);
  const seen = new Set<string>();
  const open = [...(before.get(nodeId) ?? [])];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    open.push(...(before.get(id) ?? []));
  }
  return seen;
}

/** The names that a node declares, in its own order. */
export function declaredNames(node: FlowNode, catalogue: ConsoleCatalogue): VisibleName[] {
  const points = entriesOf(node, 'variables').map((entry) => {
    const { name, instance, point_type: kind, point } = entry;
    const ref: PointRef = {
      instance: Number(instance),
      point_type: kind === 'action' ? 'action' : 'measurement',
      point: Number(point),
    };
    const facts = catalogue.point(ref);
    const source = facts === undefined ? '' : `${facts.instanceName} · ${facts.name}`;
    return { name: textOf(name), source, unit: facts?.unit ?? '', ...(facts === undefined ? {} : { point: ref }) };
  });
  const parameters = entriesOf(node, 'parameters').map(({ name, parameter }) => {
    const facts = catalogue.parameter(textOf(parameter));
    return { name: textOf(name), source: textOf(parameter), unit: facts?.unit ?? '' };
  });
  const assignments = entriesOf(node, 'assignments').map(({ name, expression }) => ({
    name: textOf(name),
    source: textOf(expression),
    unit: '',
  }));
  const computed = nodeView(nativeKindOf(node)).computed?.(configOf(node));
  const own = computed === undefined ? [] : [{ name: computed.name, source: labelOf(node), unit: '' }];
  return [...points, ...parameters, ...assignments, ...own].filter(({ name }) => name !== '');
}
