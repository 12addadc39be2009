/**
 * A rule in words: when it runs, what it reads, what it does when. Read from the topology that would run, in the words of a
 * language and the names of a site.
 */
import type { NodeParts } from './node/parts.ts';
import type { Teller } from './teller.ts';
import type { Topology } from './topology.ts';
import { type Trigger, triggerKind } from './trigger/index.ts';
import { effectiveTrigger } from './trigger/parse.ts';

/** The subject of a sentence. */
export interface ToldRule {
  readonly trigger: Trigger | null;
  readonly cooldown_ms: number;
  readonly topology: Topology;
}

/** Clauses beyond this are said to be there, not said. */
const clausesMax = 12;

export function sentenceOf({ trigger, cooldown_ms, topology }: ToldRule, teller: Teller): string {
  const { words } = teller;
  const runsBy = effectiveTrigger(trigger, cooldown_ms);
  const when = triggerKind(runsBy.type).text(runsBy, teller);
  const reads = readsText(topology, teller);
  const does = effects({ ...teller, topology, count: { clauses: 0 } }, topology.start_node, new Set());
  const body = does === '' ? words.nothing : does;
  const cooldown = cooldown_ms > 0 && trigger !== null ? words.cooldown(teller.duration(cooldown_ms)) : '';
  return `${when}${reads === '' ? '' : `, ${words.reads(reads)}`}: ${body}.${cooldown}`;
}

function readsText(topology: Topology, { words, point }: Teller): string {
  const nodes: readonly NodeParts[] = [...topology.nodes.values()];
  const names = nodes.flatMap(({ variables = [] }) =>
    variables.map((read) => {
      const label = point(read)?.label;
      return label === undefined ? read.name : `${read.name} (${label})`;
    }),
  );
  return words.and([...new Set(names)]);
}

interface Telling extends Teller {
  readonly topology: Topology;
  readonly count: { clauses: number };
}

/** The effects of a node; a node with two paths to it appears on both. */
function effects(telling: Telling, id: string, on: ReadonlySet<string>): string {
  const node = telling.topology.nodes.get(id);
  if (node === undefined || on.has(id)) return '';
  if (telling.count.clauses >= clausesMax) return telling.words.more;
  const path = new Set(on).add(id);
  const own = writesText(telling, node);
  if ('branches' in node) return joined(telling, [own, branchesText(telling, node, path)]);
  return joined(telling, [own, next(telling, node.wires['default'] ?? [], path)]);
}

function next(telling: Telling, targets: readonly string[], on: ReadonlySet<string>): string {
  return joined(telling, [...new Set(targets.map((target) => effects(telling, target, on)))]);
}

function branchesText(telling: Telling, { branches = [], wires }: NodeParts, on: ReadonlySet<string>): string {
  const { words, count } = telling;
  const told = branches.map((branch, index) => {
    count.clauses++;
    const then = next(telling, wires[branch.name] ?? [], on);
    return (index === 0 ? words.if : words.elseIf)(branch.when, then === '' ? words.nothing : then);
  });
  const otherwise = next(telling, wires['else'] ?? [], on);
  return [...told, ...(otherwise === '' ? [] : [words.otherwise(otherwise)])].join('; ');
}

function writesText({ words, point, number }: Telling, { writes = [] }: NodeParts): string {
  return words.and(
    writes.map((write) => {
      const known = point(write);
      if (typeof write.value !== 'number') return words.sets(known?.label ?? '?', write.value);
      const unit = known === undefined || known.unit === '1' ? '' : ` ${known.unit}`;
      return words.sets(known?.label ?? '?', `${number(write.value)}${unit}`);
    }),
  );
}

function joined({ words }: Teller, parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(words.then);
}
