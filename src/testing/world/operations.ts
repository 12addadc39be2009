/** The requests of the world's engineer. */
import type { Random } from './random.ts';
import { drawBranches, drawBusy, drawRule } from './world-site.ts';

const rulesMost = 12;

export const queries: readonly string[] = [
  'automation.rule.list',
  'automation.rule.get',
  'automation.rule.status',
  'automation.rule.variables',
  'automation.rule.history',
  'automation.scheduler.status',
  'automation.instance.list',
];

/** Those that do not concern a particular rule. */
const ofTheSite: ReadonlySet<string> = new Set([
  'automation.rule.create',
  'automation.rule.list',
  'automation.scheduler.status',
  'automation.scheduler.reload',
  'automation.instance.list',
]);

export function isOfOneRule(operation: string): boolean {
  return !ofTheSite.has(operation);
}

export const worldOperations: readonly string[] = [
  'automation.rule.update',
  'automation.rule.enable',
  'automation.rule.disable',
  'automation.rule.execute',
  'automation.rule.delete',
  'automation.scheduler.reload',
  ...queries,
];
/** Relative to the others, which count 2: most rules run for some time before they are deleted. */
const weights: Readonly<Record<string, number>> = {
  'automation.rule.update': 8,
  'automation.rule.enable': 10,
  'automation.rule.disable': 1,
  'automation.rule.execute': 6,
  'automation.rule.delete': 1,
};
const urn = worldOperations.flatMap((operation) => Array.from({ length: weights[operation] ?? 2 }, () => operation));

/** `rules`: the number of rules. */
export function pickOperation(random: Random, rules: number): string {
  if (rules === 0 || (rules < rulesMost && random.chance(0.2))) return 'automation.rule.create';
  return random.pick(urn);
}

/** The body of the request; `isBranching` marks a flow that the service must accept. */
export function drawBody(random: Random, operation: string, order: number): { body: object; isBranching: boolean } {
  const rule = drawRule(random);
  if (operation === 'automation.rule.create') return { body: { name: `rule ${order}` }, isBranching: false };
  if (operation !== 'automation.rule.update') return { body: {}, isBranching: false };
  if (random.chance(0.05)) return { body: drawBranches(), isBranching: true };
  if (random.chance(0.03)) return { body: drawBusy(), isBranching: false };
  const { priority, cooldown_ms } = rule;
  return { body: random.chance(0.7) ? rule : { priority, cooldown_ms }, isBranching: false };
}
