/** The registry of commands on a running service, in the order of the help. */
import { alarmCommands } from './alarms.ts';
import { auditProofCommands } from './audit-proofs.ts';
import { auditSearch } from './audit-search.ts';
import { channelCommands } from './channels.ts';
import { instances } from './instances.ts';
import type { OperationCommand } from './operation-command.ts';
import { parameterCommands } from './parameters.ts';
import { pointCommands } from './points.ts';
import { ruleFileCommands } from './rule-files.ts';
import { ruleCommands } from './rules.ts';
import { schedulerCommands } from './scheduler.ts';
import { siteCommands } from './site.ts';

export const operationCommands: readonly OperationCommand[] = [
  ...ruleCommands,
  ...ruleFileCommands,
  ...schedulerCommands,
  instances,
  ...pointCommands,
  ...channelCommands,
  ...alarmCommands,
  ...parameterCommands,
  ...siteCommands,
  auditSearch,
  ...auditProofCommands,
];
