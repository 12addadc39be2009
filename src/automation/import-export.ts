/**
 * Import of rules beside a running service [rules §9]: all files in one transaction together with its audit event. Imported rules
 * are disabled and take effect at the next reload.
 */
import type { AuditLog } from '../audit/log.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { ImportedRule } from './import-file.ts';
import { ruleView } from './rule-view.ts';
import type { RuleAct } from './store/revision-store.ts';
import { insertRule, type RuleUpdate, updateRow } from './store/rule-store.ts';
import type { RuleRow } from './store/rule-table.ts';

export interface RuleImportPlan {
  readonly rules: readonly ImportedRule[];
  /** With `name`, a rule of the same name is updated (and disabled) instead of a second one being made. */
  readonly match: 'name' | undefined;
  readonly rulesMax: number;
}

export interface RuleImportReport {
  readonly created: readonly { readonly id: number; readonly name: string }[];
  readonly updated: readonly { readonly id: number; readonly name: string }[];
}

export async function importRules(
  database: Database,
  audit: AuditLog,
  clock: Clock,
  plan: RuleImportPlan,
): Promise<RuleImportReport> {
  const at = new Date(clock.wallMs()).toISOString();
  const subject = { kind: 'system', subjectId: 'setpoint-cli' } as const;
  const act: RuleAct = {
    action: 'automation.rule.import',
    author: { kind: subject.kind, id: subject.subjectId },
    correlationId: newId(),
  };
  return database.transaction(async (transaction) => {
    const created: RuleRow[] = [];
    const updated: RuleUpdate[] = [];
    for (const rule of plan.rules) {
      const known = plan.match === 'name' ? await idsNamed(transaction, rule.name) : [];
      const [id] = known;
      if (known.length > 1)
        throw new Fault(
          'invalid-input',
          `${known.length} rules are named "${rule.name}": matching by name cannot choose`,
        );
      if (id !== undefined) {
        updated.push(await updateRow(transaction, id, rule.changes, at, act));
        continue;
      }
      const fresh = { description: rule.description, ...rule.changes, name: rule.name };
      created.push(await insertRule(transaction, fresh, at, plan.rulesMax, act));
    }
    await audit.appendIn(transaction, {
      subject,
      action: act.action,
      resource: { kind: 'automation-rule', resourceId: 'automation-rule:import' },
      outcome: 'succeeded',
      risk: 'high',
      confirmation: 'explicit',
      correlationId: act.correlationId,
      details: {
        created: created.map(ruleView),
        updated: updated.map(({ before, after }) => ({ before: ruleView(before), after: ruleView(after) })),
      },
    });
    return {
      created: created.map(({ id, name }) => ({ id, name })),
      updated: updated.map(({ after: { id, name } }) => ({ id, name })),
    };
  });
}

async function idsNamed(transaction: Transaction, name: string): Promise<number[]> {
  const rows = await transaction.selectFrom('rules').select('id').where('name', '=', name).orderBy('id').execute();
  return rows.map((row) => row.id);
}
