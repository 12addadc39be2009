/** The named limits of a PostgreSQL connection, with unit and default: the section `storage` of service.yaml. */
import Type, { type Static } from 'typebox';
import { defaultsOf, limit } from '../base/limits.ts';
import { strict } from '../base/schema.ts';

export const storageLimitsSchema = strict({
  postgres_schema: Type.String({
    // Names of 63 characters are the server's limit, and those of channels are this and a few more.
    pattern: '^[a-z_][a-z0-9_]{0,57}$',
    default: 'setpoint',
    description: 'a schema of the database, of 1 to 58 letters a-z, digits and _: it holds all tables',
  }),
  connections_max: limit(10, [1, 1000], 'connections that one part of a process keeps open at most'),
  connect_timeout_ms: limit(3000, [100, 60_000], 'time in which a connection must be there, or a free one found'),
  statement_timeout_ms: limit(10_000, [100, 600_000], 'time after which a statement is given up'),
  lock_timeout_ms: limit(5000, [10, 600_000], 'time that a change waits for the change of another process'),
  idle_transaction_timeout_ms: limit(
    3000,
    [100, 600_000],
    'time after which the server takes its lock from a process that has stopped in the middle of a change',
  ),
  engine_lease_ms: limit(
    800,
    [200, 60_000],
    'time for which the leader may continue without an answer of the database',
  ),
  engine_renew_ms: limit(150, [20, 20_000], 'time between two renewals of that lease'),
  engine_poll_ms: limit(100, [20, 20_000], 'poll interval of a standby process'),
});

export type StorageLimits = Static<typeof storageLimitsSchema>;

export const storageLimits: StorageLimits = defaultsOf(storageLimitsSchema);
