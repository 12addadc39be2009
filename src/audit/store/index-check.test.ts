/** On a real PostgreSQL [audit §7]: an index of the audit events that lacks one of them, or is missing, is named. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectPostgres } from '../../storage/postgres.ts';
import { hideFromIndex } from '../../testing/audit-forgery.ts';
import { fillTrail, type TestTrail, testTrail } from '../../testing/audit-trail.ts';
import { incompleteIndex } from './index-check.ts';

let trail: TestTrail;

beforeEach(async () => {
  trail = await testTrail('postgres');
  await fillTrail(trail, 40);
});

afterEach(() => trail.close());

async function found(): Promise<string | null> {
  if (typeof trail.place === 'string') throw new Error('not a server');
  const server = connectPostgres(trail.place, 'site');
  try {
    return await incompleteIndex(server);
  } finally {
    await server.close();
  }
}

describe('[audit §7] the indexes of the audit events', () => {
  test('each index that lacks an event is named, and none if all are complete', async () => {
    expect(await found()).toBeNull();
    for (const name of ['action', 'subject', 'resource', 'resource_kind', 'time'].map(
      (each) => `audit_event_${each}`,
    )) {
      await hideFromIndex(trail, name, 7);
      expect(await found()).toBe(
        `the index ${name} does not hold all audit events; find out who changed it, then run REINDEX INDEX ${name}`,
      );
      await trail.run(`REINDEX INDEX ${name}`);
      expect(await found()).toBeNull();
    }
  });

  test('a missing one is named, and a partial one', async () => {
    const gone =
      'the index audit_event_action is missing or was changed; find out by whom, then create it again on (chain_id, action, sequence)';
    await trail.run('DROP INDEX audit_event_action');
    expect(await found()).toBe(gone);
    await trail.run('CREATE INDEX audit_event_action ON audit_event (chain_id, action, sequence) WHERE sequence <> 7');
    expect(await found()).toBe(gone);
  });

  test('a duplicate sequence is found', async () => {
    await trail.run(
      'ALTER TABLE audit_event DROP CONSTRAINT audit_event_pkey, DROP CONSTRAINT audit_event_event_id_key',
    );
    await trail.tamper('INSERT INTO audit_event SELECT * FROM audit_event WHERE sequence = 7');
    expect(await found()).toBe('the audit events hold a sequence twice');
  });
});
