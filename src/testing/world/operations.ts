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

/** `rules`: how many there are. */
export function pickOperation(random: Random, rules: number): string {
  if (rules === 0 || (rules < rulesMost && random.chance(0.2))) return 'automation.rule.create';
  return random.pick([
    'automation.rule.update',
    'automation.rule.update',
    'automation.rule.enable',
    'automation.rule.enable',
    'automation.rule.enable',
    'automation.rule.disable',
    'automation.rule.execute',
    'automation.rule.delete',
    'automation.scheduler.reload',
    ...queries,
  ]);
}
