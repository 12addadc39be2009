/** What an engineer of the world asks for. */
import type { Random } from './random.ts';

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

/** Those that are about no rule in particular. */
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
/** Relative to the others, which count 2: most rules run for a while before somebody takes them away. */
const weights: Readonly<Record<string, number>> = {
  'automation.rule.update': 8,
  'automation.rule.enable': 10,
  'automation.rule.disable': 1,
  'automation.rule.execute': 6,
  'automation.rule.delete': 1,
};
const urn = worldOperations.flatMap((operation) => Array.from({ length: weights[operation] ?? 2 }, () => operation));

/** `rules`: how many there are. */
export function pickOperation(random: Random, rules: number): string {
  if (rules === 0 || (rules < rulesMost && random.chance(0.2))) return 'automation.rule.create';
  return random.pick(urn);
}
