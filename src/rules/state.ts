/**
 * The memory of a rule from run to run: that of each stateful call site and period delta ([rules §5.2], [rules §4.6]). State
 * belongs to one call site of one node and is dropped when that node is edited.
 */

import type { StatefulName } from './expression/function-table.ts';
import { afterRestart, type SiteState } from './expression/stateful.ts';
import { isNodeType, type NodeType, nodeKind } from './node/index.ts';

/** Where a memory belongs: a call site or a period delta of one node, by its order in the node. */
export interface SiteFacts {
  readonly nodeId: string;
  /** Fingerprint of the node's content; another one means that the node was edited. */
  readonly content: string;
  readonly ordinal: number;
  /** The function of the call site, or the type of a node that computes by itself. */
  readonly kind: StatefulName | NodeType;
}

/** One memory per site, in the order of the rule's sites; an empty memory starts again. */
export type RuleState = SiteState[];

interface HasSites {
  readonly sites: readonly SiteFacts[];
}

export function createRuleState(rule: HasSites): RuleState {
  return rule.sites.map(() => []);
}

/** The state of `next`, with the memories of all nodes that `previous` had with the same content. */
export function carryRuleState(state: RuleState, previous: HasSites, next: HasSites): RuleState {
  const known = new Map(previous.sites.map((site, index) => [keyOf(site), state[index] ?? []]));
  return next.sites.map((site) => [...(known.get(keyOf(site)) ?? [])]);
}

/** Durable form: `[[key, …memory], …]` of the memories that are not empty. */
export type StoredRuleState = (readonly [string, ...number[]])[];

export function exportRuleState(rule: HasSites, state: RuleState): StoredRuleState {
  return rule.sites.flatMap((site, index) => {
    // JSON has no infinity; a memory that carries one is past its gap anyway and says so by its own restart form.
    const memory = (state[index] ?? []).map((value) => (Number.isFinite(value) ? value : 0));
    return memory.length === 0 ? [] : [[keyOf(site), ...memory] as const];
  });
}

/**
 * The part of the memories that must be stored at once when it changes: switch positions and period baselines. Sums and windows
 * grow with every run and may be older by a flush time after a crash; state that depends on elapsed time is not kept at all.
 */
export function urgentRuleState(rule: HasSites, state: RuleState): string {
  let text = '';
  for (const [index, { kind }] of rule.sites.entries()) {
    const memory = state[index] ?? [];
    if (kind === 'hysteresis') text += ` ${memory[0] ?? ''}`;
    else text += ` ${memory.slice(0, nodeKind(kind)?.urgentMemory ?? 0).join(' ')}`;
  }
  return text;
}

/** State after a restart: what hangs on elapsed time starts again, everything else goes on [rules §5.2]. */
export function restoreRuleState(rule: HasSites, stored: unknown): RuleState {
  const known = new Map<string, number[]>();
  for (const entry of Array.isArray(stored) ? stored : []) {
    if (!Array.isArray(entry)) continue;
    const [key, ...memory] = entry as unknown[];
    if (typeof key === 'string' && memory.every((value) => typeof value === 'number')) known.set(key, memory);
  }
  return rule.sites.map((site) => {
    const memory = known.get(keyOf(site)) ?? [];
    return isNodeType(site.kind) ? memory : afterRestart(site.kind, memory);
  });
}

function keyOf(site: SiteFacts): string {
  return `${site.nodeId}#${site.ordinal}#${site.kind}#${site.content}`;
}

/** A 53-bit fingerprint of a text (cyrb53): enough to notice an edit, not meant against an adversary. */
export function fingerprint(text: string): string {
  let h1 = 0xdeadbeef;
  let h2 = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    h1 = Math.imul(h1 ^ unit, 2654435761);
    h2 = Math.imul(h2 ^ unit, 1597334677);
  }
  h1 = Math.imul(h1 ^ (h1 >>> 16), 2246822507) ^ Math.imul(h2 ^ (h2 >>> 13), 3266489909);
  h2 = Math.imul(h2 ^ (h2 >>> 16), 2246822507) ^ Math.imul(h1 ^ (h1 >>> 13), 3266489909);
  return (4294967296 * (2097151 & h2) + (h1 >>> 0)).toString(36);
}
