/** Parameter values that override the site file [points §9]. */
import type { Database } from '../../storage/database.ts';

declare module '../../storage/database.ts' {
  interface SiteTables {
    parameter_value: { name: string; value: number };
  }
}

export const parametersInDatabaseFile = `
  CREATE TABLE parameter_value (
    name TEXT PRIMARY KEY,
    value REAL NOT NULL
  ) STRICT;
`;
export const parametersOnServer = `
  CREATE TABLE parameter_value (
    name text COLLATE "C" PRIMARY KEY,
    value double precision NOT NULL
  );
`;

export interface ParameterStore {
  all(): Promise<ReadonlyMap<string, number>>;
  put(name: string, value: number): Promise<void>;
  remove(name: string): Promise<void>;
}

export function createParameterStore(database: Database): ParameterStore {
  return {
    async all() {
      const rows = await database.query.selectFrom('parameter_value').select(['name', 'value']).execute();
      return new Map(rows.map(({ name, value }) => [name, value]));
    },
    put: (name, value) =>
      database.transaction(async (transaction) => {
        await transaction
          .insertInto('parameter_value')
          .values({ name, value })
          .onConflict((on) => on.column('name').doUpdateSet({ value }))
          .execute();
      }),
    remove: (name) =>
      database.transaction(async (transaction) => {
        await transaction.deleteFrom('parameter_value').where('name', '=', name).execute();
      }),
  };
}
