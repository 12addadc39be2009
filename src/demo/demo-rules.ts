/** The rules of the demo [platform §1.2]: imported and enabled once, with their audit records. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importRules } from '../automation/import-export.ts';
import { decodeRuleFile } from '../automation/import-file.ts';
import { updateRow } from '../automation/store/rule-store.ts';
import { systemClock } from '../base/clock.ts';
import { newId } from '../base/id.ts';
import type { RunningService } from '../bin/service.ts';
import { StartError } from '../bin/start-error.ts';

/** The most rules in the folder. */
const rulesMax = 1000;

/** Imports and enables the rules of `<configDir>/rules`, unless rules exist already; returns whether it did. */
export async function installDemoRules(service: RunningService, configDir: string): Promise<boolean> {
  if ((await service.store.heads()).length > 0) return false;
  const rules = readRules(join(configDir, 'rules'), service);
  const report = await importRules(service.database, service.audit, systemClock, { rules, match: undefined, rulesMax });
  await enable(
    service,
    report.created.map(({ id }) => id),
  );
  await service.engine.reload();
  return true;
}

function readRules(folder: string, service: RunningService) {
  if (!existsSync(folder)) return [];
  const read = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => decodeRuleFile(name, readFileSync(join(folder, name), 'utf8'), service.catalogue()));
  const problems = read.flatMap((result) => (result.ok ? [] : result.problems));
  if (problems.length > 0) throw new StartError(problems.join('\n'));
  return read.flatMap((result) => (result.ok ? result.rules : []));
}

/** An import leaves rules disabled; enabling them is an event of its own, in the same transaction. */
async function enable(service: RunningService, ids: readonly number[]): Promise<void> {
  const at = new Date(systemClock.wallMs()).toISOString();
  const correlationId = newId();
  const subject = { kind: 'system', subjectId: 'setpoint-demo' } as const;
  const action = 'automation.rule.enable';
  await service.database.transaction(async (transaction) => {
    for (const id of ids) {
      const act = { action, author: { kind: subject.kind, id: subject.subjectId }, correlationId };
      await updateRow(transaction, id, { enabled: true }, at, act);
      await service.audit.appendIn(transaction, {
        subject,
        action,
        resource: { kind: 'automation-rule', resourceId: `automation-rule:${id}` },
        outcome: 'succeeded',
        risk: 'high',
        confirmation: 'not-required',
        correlationId,
        details: { before: { enabled: false }, after: { enabled: true } },
      });
    }
  });
}
