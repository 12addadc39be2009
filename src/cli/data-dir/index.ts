/** The registry of commands without a running service: on the files of the site, its data dir, and devices. */
import type { Command } from 'commander';
import type { SharedGroups } from '../program.ts';
import { addAuditFileCommands } from './audit-command.ts';
import { addAuditProofCommands } from './audit-proof-command.ts';
import { addBackupCommands } from './backup-command.ts';
import { addForecastCommands } from './forecasts-command.ts';
import { addHistoryCommands } from './history-command.ts';
import { addMigrateCommand } from './migrate-command.ts';
import { addRuleFileCommands } from './rule-files-command.ts';
import { addSimulateCommand, type SimulateParts } from './simulate-command.ts';
import { addSiteCommands, type SiteFileParts } from './site-command.ts';
import { addTokenCommands } from './token-command.ts';
import { addUserCommands } from './users-command.ts';
import { addWitnessCommand, type WitnessParts } from './witness-command.ts';

export type OwnCommandParts = SiteFileParts & SimulateParts & WitnessParts;

export function addOwnCommands(setpoint: Command, groups: SharedGroups, parts: OwnCommandParts): void {
  addSiteCommands(groups.site, parts);
  addSimulateCommand(setpoint, parts);
  addRuleFileCommands(groups.rules, parts);
  addAuditFileCommands(groups.audit, parts);
  addAuditProofCommands(groups.audit, parts);
  addHistoryCommands(setpoint.command('history').description('recorded values of one point'), parts);
  addForecastCommands(setpoint.command('forecasts').description('forecasts over recorded history'), parts);
  addTokenCommands(setpoint, parts);
  addUserCommands(setpoint, parts);
  addBackupCommands(setpoint, parts);
  addMigrateCommand(setpoint, parts);
  addWitnessCommand(setpoint, parts);
}
