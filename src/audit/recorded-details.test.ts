/** What commands read back from the log [audit §1]. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditEntry, type TestTrail, testScope, testTrail } from '../testing/audit-trail.ts';
import { engines } from '../testing/engines.ts';
import { createAuditLog } from './log.ts';
import { recordedDetails } from './recorded-details.ts';

describe.each(engines)('recorded details on %s', (engine) => {
  let trail: TestTrail;
  beforeEach(async () => (trail = await testTrail(engine)));
  afterEach(() => trail.close());

  test('are those of one action, scope and member that succeeded in time, oldest first', async () => {
    const issue = { action: 'identity.token.issue', outcome: 'succeeded' } as const;
    const log = createAuditLog({ ...trail, scope: testScope });
    await log.append(auditEntry({ ...issue, details: { token_id: 'one' } }));
    await log.append(auditEntry({ ...issue, details: { by: 'link' } }));
    await log.append(auditEntry({ ...issue, outcome: 'failed', details: { token_id: 'failed' } }));
    await log.append(auditEntry({ ...issue, action: 'identity.token.revoke', details: { token_id: 'other' } }));
    await log.append(auditEntry({ ...issue }));
    await log.append(auditEntry({ ...issue, details: { token_id: 'two' } }));
    const elsewhere = { ...testScope, projectId: 'elsewhere' };
    await createAuditLog({ ...trail, scope: elsewhere }).append(
      auditEntry({ ...issue, details: { token_id: 'theirs' } }),
    );
    const read = (scope = testScope, from = '1970-01-01T00:00:00.000Z') =>
      recordedDetails(trail.database, scope, issue.action, 'token_id', from);
    const found = await read();
    expect(found.map(({ details }) => details)).toEqual([{ token_id: 'one' }, { token_id: 'two' }]);
    const last = found.at(-1)?.occurredAt ?? '';
    expect((await read(testScope, last)).at(-1)?.details).toEqual({ token_id: 'two' });
    expect(await read(testScope, '9999-01-01T00:00:00.000Z')).toEqual([]);
    expect((await read(elsewhere)).map(({ details }) => details)).toEqual([{ token_id: 'theirs' }]);
    expect(await read({ ...testScope, projectId: 'none' })).toEqual([]);
  });
});
