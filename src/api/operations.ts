/**
 * Every operation that the service may offer, as one list [platform §3]: what the API description, the command line and the
 * tools are derived from. A test holds it against the routes of the running service, so none is forgotten.
 */
import { alarms } from './alarms.ts';
import { auditOperations } from './audit.ts';
import { automation } from './automation.ts';
import { ruleBacktest } from './backtest.ts';
import type { Capability } from './capability.ts';
import { channels } from './channels.ts';
import { platform } from './platform.ts';
import { points } from './points.ts';
import { dataProcessing } from './processing-capabilities.ts';
import { revisions } from './revisions.ts';
import { ruleFiles } from './rule-files.ts';
import { ruleTemplates } from './rule-templates.ts';
import { ruleTests } from './rule-tests.ts';
import { session } from './session.ts';
import { site } from './site.ts';
import { tokens, users } from './users.ts';

export const operations: readonly Capability[] = [
  ...Object.values(platform),
  ...Object.values(session),
  ...Object.values(users),
  ...Object.values(tokens),
  ...Object.values(automation),
  ...Object.values(ruleBacktest),
  ...Object.values(ruleTests),
  ...Object.values(revisions),
  ...Object.values(ruleFiles),
  ...Object.values(ruleTemplates),
  ...Object.values(points),
  ...Object.values(channels),
  ...Object.values(site),
  ...Object.values(alarms),
  ...Object.values(auditOperations),
  ...Object.values(dataProcessing),
];
