/** Rules that alternate as writers of a point [rules §2.6]: each write is accepted, and none lasts. Pure. */
import type { PointTurns } from './authority-keeper.ts';
import type { RuleReason, RuleStatus } from './engine-contract.ts';

/** Adds the reason `takes-turns` to the status of each rule, once for each point that it shares in this way. */
export function withTurns(
  statuses: readonly (RuleStatus | null)[],
  turns: readonly PointTurns[],
): (RuleStatus | null)[] {
  return statuses.map((status) => {
    const own = turns.filter(({ ruleIds }) => status !== null && ruleIds.includes(status.rule_id));
    if (status === null || own.length === 0) return status;
    const reasons = own.map(({ instance, point, ruleIds }): RuleReason => {
      const others = ruleIds.filter((id) => id !== status.rule_id);
      return { code: 'takes-turns', instance, point, rule_ids: others };
    });
    return { ...status, reasons: [...status.reasons, ...reasons] };
  });
}
