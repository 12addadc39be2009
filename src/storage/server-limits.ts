/** The named limits of a PostgreSQL connection, with unit and default: the section `storage` of service.yaml. */
import Type, { type Static } from 'typebox';

export const storageLimitsSchema = Type.Object(
  {
    postgres_schema: Type.String({
      // Names of 63 characters are the server's limit, and those of channels are this and a few more.
      pattern: '^[a-z_][a-z0-9_]{0,57}$',
      default: 'setpoint',
      description: 'schema of the database that holds all tables, 58 characters at most',
    }),
    connections_max: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 10,
      description: 'connections that one part of a process keeps open at most',
    }),
    connect_timeout_ms: Type.Integer({
      minimum: 100,
      maximum: 60_000,
      default: 3000,
      description: 'time in which a connection must be there, or a free one found',
    }),
    statement_timeout_ms: Type.Integer({
      minimum: 100,
      maximum: 600_000,
      default: 10_000,
      description: 'time after which a statement is given up',
    }),
    lock_timeout_ms: Type.Integer({
      minimum: 10,
      maximum: 600_000,
      default: 5000,
      description: 'time that a change waits for the change of another process',
    }),
    idle_transaction_timeout_ms: Type.Integer({
      minimum: 100,
      maximum: 600_000,
      default: 3000,
      description:
        'time after which the server takes its lock from a process that has stopped in the middle of a change',
    }),
    engine_lease_ms: Type.Integer({
      minimum: 200,
      maximum: 60_000,
      default: 800,
      description: 'time for which the process that controls may go on without hearing from the database',
    }),
    engine_renew_ms: Type.Integer({
      minimum: 20,
      maximum: 20_000,
      default: 150,
      description: 'time between two renewals of that lease',
    }),
    engine_poll_ms: Type.Integer({
      minimum: 20,
      maximum: 20_000,
      default: 100,
      description: 'time between two looks of a process that stands by',
    }),
  },
  { additionalProperties: false },
);

export type StorageLimits = Static<typeof storageLimitsSchema>;

export const storageLimits: StorageLimits = {
  postgres_schema: 'setpoint',
  connections_max: 10,
  connect_timeout_ms: 3000,
  statement_timeout_ms: 10_000,
  lock_timeout_ms: 5000,
  idle_transaction_timeout_ms: 3000,
  engine_lease_ms: 800,
  engine_renew_ms: 150,
  engine_poll_ms: 100,
};
