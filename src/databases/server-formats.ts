/** Data formats on a server, and the processes that use them (docs/guides/several-machines.md). */
import type { KeyObject } from 'node:crypto';
import type { AuditScope } from '../audit/event.ts';
import { sha256Hex } from '../base/digest.ts';
import {
  answersOnly,
  connectPostgres,
  isHeld,
  openedOnServer,
  type PostgresConnection,
  type PostgresPlace,
} from '../storage/postgres.ts';
import { type DatabaseFormat, isOlder } from './data-files.ts';
import { schemas } from './schemas.ts';

/** Formats of the databases that are there. */
export function serverFormats(place: PostgresPlace): Promise<DatabaseFormat[]> {
  return onServer(place, readFormats);
}

/**
 * Refuses the upgrade of a site that other processes still use: they would continue with tables that they do not know, and their
 * changes would lack what this version stores beside them. Throws one line for the operator.
 */
export async function refuseUpgradeWhileUsed(place: PostgresPlace): Promise<void> {
  const users = await onServer(place, async (connection) =>
    (await readFormats(connection)).some(isOlder) ? processesOf(connection, place) : [],
  );
  const addresses = [...new Set(users.map(({ address }) => address))];
  if (addresses.length > 0)
    throw new Error(
      `the database has an older format, and processes of the site are connected from ${addresses.join(', ')}: stop all of them, then start this version`,
    );
}

/** What all processes of a site have in common: one of them made it at its first start, and the others were given it. */
interface SharedIdentity {
  readonly scope: AuditScope;
  /** Null where tokens are verified with another key than the site's own. */
  readonly tokenKey: KeyObject | null;
  readonly auditKey: KeyObject;
}

const sharedNames = [
  'tenant and project (scope.json, or SVC_CLOUD_API_TENANT_ID and SVC_CLOUD_API_PROJECT_ID)',
  'signing-key.pem',
  'audit-key.pem',
];
const digestLength = 12;
/** In place of a digest. */
const notShared = '-';

/**
 * The name under which a process shows itself to the others while it is connected: digests of what they must have in common, and whether it
 * can control.
 */
export function processNameOf({ scope, tokenKey, auditKey }: SharedIdentity, canControl: boolean): string {
  const keyText = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();
  const shared = [`${scope.tenantId} ${scope.projectId}`, tokenKey && keyText(tokenKey), keyText(auditKey)];
  return [
    'setpoint',
    ...shared.map((text) => (text === null ? notShared : sha256Hex(text).slice(0, digestLength))),
    ...(canControl ? [] : [answersOnly]),
  ].join(' ');
}

/**
 * Refuses to join processes of another identity: it would refuse their tokens, record its audit events under another tenant, and sign
 * the audit log with another key. Throws one line for the operator.
 */
export async function refuseOtherIdentity(place: PostgresPlace, name: string): Promise<void> {
  for (const other of await onServer(place, (connection) => processesOf(connection, place))) {
    const differing = differences(name, other.name);
    if (differing.length > 0)
      throw new Error(
        `the process of the site at ${other.address} has another ${differing.join(', ')}: all processes need the same, so copy them from its data dir`,
      );
  }
}

/** A process of an earlier version shows no digests. */
function differences(own: string, other: string): string[] {
  const [ours, theirs] = [own.split(' ').slice(1), other.split(' ').slice(1)];
  return sharedNames.filter((_, at) => {
    const [one = notShared, another = notShared] = [ours[at], theirs[at]];
    return one !== notShared && another !== notShared && one !== another;
  });
}

function onServer<T>(place: PostgresPlace, work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
  return openedOnServer('site', async () => {
    const server = connectPostgres({ ...place, limits: { ...place.limits, connections_max: 1 } }, 'migration');
    let connection: PostgresConnection | undefined;
    try {
      connection = await server.connect();
      return await work(connection);
    } finally {
      connection?.release(true);
      await server.close();
    }
  });
}

async function readFormats({ run }: PostgresConnection): Promise<DatabaseFormat[]> {
  const [table] = await run(`SELECT to_regclass('data_format') IS NOT NULL AS exists`);
  if (table?.['exists'] !== true) return [];
  const rows = new Map(
    (await run('SELECT name, version FROM data_format')).map((row) => [row['name'], row['version']]),
  );
  return Object.values(schemas).flatMap(({ name, server }) =>
    rows.has(name) ? [{ name, found: Number(rows.get(name)), known: server.length }] : [],
  );
}

/** The connected processes of the site. The leader of a version that does not hold `process` holds `engine`. */
async function processesOf(
  { run }: PostgresConnection,
  { limits }: PostgresPlace,
): Promise<{ readonly address: string; readonly name: string }[]> {
  const { postgres_schema: schema } = limits;
  const rows = await run(
    `SELECT DISTINCT coalesce(host(client_addr), 'a local socket') AS address, coalesce(application_name, '') AS name
      FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
      WHERE (${isHeld(schema, 'process')}) OR (${isHeld(schema, 'engine')}) ORDER BY address, name`,
  );
  return rows.map(({ address, name }) => ({ address: String(address), name: String(name) }));
}
