/** A rule in words: when it runs, what it reads, what it does when. Read from the topology that would run. */

import type { TopologyNode } from '../../../src/rules/node/index.ts';
import type { Topology } from '../../../src/rules/topology.ts';
import type { Trigger } from '../../../src/rules/trigger/index.ts';
import { effectiveTrigger } from '../../../src/rules/trigger/parse.ts';
import { shownDuration, shownNumber } from '../parts/number.ts';
import { t } from '../strings/index.ts';
import { triggerView } from '../trigger/index.ts';
import type { Content } from './draft-history.ts';
import { type ConsoleCatalogue, pointLabel } from './site-catalogue.ts';

const words = t.editor.sentence;
/** Clauses beyond this are said to be there, not said. */
const clausesMax = 12;

export function sentenceOf(
  content: Content,
  trigger: Trigger | null,
  topology: Topology,
  catalogue: ConsoleCatalogue,
): string {
  const teller: Teller = { topology, catalogue, clauses: 0 };
  const runsBy = effectiveTrigger(trigger, content.cooldown_ms);
  const when = triggerView(runsBy.type).text(runsBy, catalogue);
  const reads = readsText(topology, catalogue);
  const does = effects(teller, topology.start_node, new Set());
  const body = does === '' ? words.nothing : does;
  const cooldown =
    content.cooldown_ms > 0 && trigger !== null ? words.cooldown(shownDuration(content.cooldown_ms)) : '';
  return `${when}${reads === '' ? '' : `, ${words.reads(reads)}`}: ${body}.${cooldown}`;
}

function readsText(topology: Topology, catalogue: ConsoleCatalogue): string {
  const names = [...topology.nodes.values()].flatMap((node) =>
    'variables' in node
      ? (node.variables ?? []).map((read) => {
          const point = catalogue.point(read);
          return point === undefined ? read.name : `${read.name} (${pointLabel(point)})`;
        })
      : [],
  );
  return words.and([...new Set(names)]);
}

interface Teller {
  readonly topology: Topology;
  readonly catalogue: ConsoleCatalogue;
  clauses: number;
}

/** What follows from a node; a node that two ways lead to is told on each of them. */
function effects(teller: Teller, id: string, on: ReadonlySet<string>): string {
  const node = teller.topology.nodes.get(id);
  if (node === undefined || on.has(id)) return '';
  if (teller.clauses >= clausesMax) return words.more;
  const path = new Set(on).add(id);
  const own = ownEffects(teller, node);
  if (node.type === 'switch') return joined([own, branchesText(teller, node, path)]);
  return joined([own, next(teller, node.wires['default'] ?? [], path)]);
}

function next(teller: Teller, targets: readonly string[], on: ReadonlySet<string>): string {
  return joined([...new Set(targets.map((target) => effects(teller, target, on)))]);
}

function branchesText(teller: Teller, node: TopologyNode & { type: 'switch' }, on: ReadonlySet<string>): string {
  const told = node.branches.map((branch, index) => {
    teller.clauses++;
    const then = next(teller, node.wires[branch.name] ?? [], on);
    return (index === 0 ? words.if : words.elseIf)(branch.when, then === '' ? words.nothing : then);
  });
  const otherwise = next(teller, node.wires['else'] ?? [], on);
  return [...told, ...(otherwise === '' ? [] : [words.otherwise(otherwise)])].join('; ');
}

function ownEffects({ catalogue }: Teller, node: TopologyNode): string {
  const writes = 'writes' in node ? (node.writes ?? []) : [];
  return words.and(
    writes.map((write) => {
      const point = catalogue.point(write);
      const value = typeof write.value === 'number' ? shownNumber(write.value) : write.value;
      const unit = typeof write.value === 'number' && point !== undefined && point.unit !== '1' ? ` ${point.unit}` : '';
      return words.sets(point === undefined ? '?' : pointLabel(point), `${value}${unit}`);
    }),
  );
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(words.then);
}
