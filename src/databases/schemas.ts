/**
 * The site's databases and their tables, which belong to other folders. The number of applied steps is a database's format; a
 * database with more steps than this program supports was written by a newer one and is refused.
 */
import { alarmsInFile, alarmsOnServer } from '../alarms/store/tables.ts';
import { auditInFile } from '../audit/store/file-tables.ts';
import { inProgressInFile, inProgressOnServer } from '../audit/store/in-progress.ts';
import { chainOlderEvents } from '../audit/store/migration.ts';
import { auditOnServer } from '../audit/store/server-tables.ts';
import { auditTreeInFile, auditTreeOnServer } from '../audit/tree/tree-tables.ts';
import { parametersInDatabaseFile, parametersOnServer } from '../automation/store/parameter-store.ts';
import { revisionsInFile, revisionsOnServer } from '../automation/store/revision-table.ts';
import {
  ruleHeadsInFile,
  ruleKeysInFile,
  ruleKeysOnServer,
  ruleModes,
  rulesInFile,
  rulesOnServer,
  ruleTestColumns,
} from '../automation/store/rule-table.ts';
import { runtimeSchema } from '../automation/store/runtime-schema.ts';
import { historySchema } from '../historian/store/schema.ts';
import { forecastSchema } from '../processing/results/forecast-database.ts';
import { revocationsInFile, revocationsOnServer, signInInFile, signInOnServer } from '../sign-in/store/tables.ts';
import type { DatabaseSchema } from '../storage/database.ts';

const queryFunctions = `
  -- The two functions that queries use and this engine does not have.
  CREATE FUNCTION instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT strpos($1, $2)';
  CREATE FUNCTION unlikely(boolean) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1';
`;

/** Rules and audit. */
export const siteSchema: DatabaseSchema = {
  name: 'site',
  file: [
    `${rulesInFile} ${auditInFile}`,
    chainOlderEvents,
    ruleHeadsInFile,
    parametersInDatabaseFile,
    alarmsInFile,
    signInInFile,
    revocationsInFile,
    revisionsInFile,
    ruleModes,
    ruleTestColumns,
    ruleKeysInFile,
    auditTreeInFile,
    inProgressInFile,
  ],
  server: [
    `${queryFunctions} ${rulesOnServer} ${auditOnServer}`,
    parametersOnServer,
    alarmsOnServer,
    signInOnServer,
    revocationsOnServer,
    revisionsOnServer,
    ruleModes,
    ruleTestColumns,
    ruleKeysOnServer,
    auditTreeOnServer,
    inProgressOnServer,
  ],
};

export const schemas = {
  site: siteSchema,
  runtime: runtimeSchema,
  history: historySchema,
  forecasts: forecastSchema,
} as const;
