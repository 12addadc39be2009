/** Pages of audit events [audit §4]: every event once, newest first, whatever the limit, filters, times and appends. */
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import type { CompiledQuery } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditEntry, type TestTrail, testScope, testTrail } from '../testing/audit-trail.ts';
import { engines } from '../testing/engines.ts';
import { criteriaOf } from './criteria.ts';
import { type AuditLog, createAccessLog, createAuditLog } from './log.ts';
import { createAuditSearch } from './search.ts';

describe.each(engines)('audit search on %s', (engine) => {
  let trail: TestTrail;
  let log: AuditLog;
  beforeEach(async () => {
    trail = await testTrail(engine);
    log = createAuditLog({ ...trail, scope: testScope });
  });
  afterEach(() => trail.close());
  const searchOf = (scanWindow = 5000) => createAuditSearch({ ...trail, scanWindow });
  const appendMany = (count: number) => Promise.all(Array.from({ length: count }, () => log.append(auditEntry())));
  const downFrom = (last: number): string[] => Array.from({ length: last }, (_, index) => String(last - index));

  async function walk(
    limit: number,
    query: Readonly<Record<string, string>> = {},
    between: () => Promise<unknown> = () => Promise.resolve(),
  ) {
    const search = searchOf();
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const asked: Record<string, string> = { ...query, limit: String(limit) };
      if (cursor !== null) asked['cursor'] = cursor;
      const page = await search.page(testScope, criteriaOf(asked));
      seen.push(...page.items.map((item) => item.sequence));
      expect(page.nextCursor).toBe(page.nextCursor === null ? null : page.items.at(-1)?.sequence);
      cursor = page.nextCursor;
      await between();
    } while (cursor !== null);
    return seen;
  }

  test('[audit §4] a full walk returns every event exactly once across 9→10, 99→100, 999→1000, with any limit, while events are appended', async () => {
    await appendMany(1003);
    let last = 1003;
    for (const limit of [1, 2, 7, 9, 10, 11, 50, 99, 100]) {
      const began = last;
      let pages = 0;
      const seen = await walk(limit, {}, async () => {
        // Small pages mean many requests, and each append waits for the disk.
        if (pages++ % Math.ceil(50 / limit) === 0) last = (await log.append(auditEntry())).sequence;
      });
      expect(last).toBeGreaterThan(began);
      expect(seen).toEqual(downFrom(began));
    }
  });

  test('[audit §4] every limit from 1 to 100 walks the same events', async () => {
    await appendMany(101);
    for (let limit = 1; limit <= 100; limit++) expect(await walk(limit)).toEqual(downFrom(101));
  });

  test('[audit §4] resuming at every possible sequence gives exactly the next page', async () => {
    await appendMany(120);
    const search = searchOf();
    for (let cursor = 0; cursor <= 122; cursor++) {
      const page = await search.page(testScope, criteriaOf({ limit: '7' }, String(cursor)));
      const from = Math.min(cursor - 1, 120);
      expect(page.items.map((item) => item.sequence)).toEqual(downFrom(Math.max(from, 0)).slice(0, 7));
    }
  });

  test('[audit §4] a cursor above 2^63-1 has no effect', async () => {
    await appendMany(3);
    for (const cursor of ['9223372036854775808', '18446744073709551615', '9223372036854775807'])
      expect((await searchOf().page(testScope, criteriaOf({ cursor }))).items).toHaveLength(3);
  });

  test('[audit §4] nextCursor is null when nothing more matches, also when a page is exactly full', async () => {
    await appendMany(4);
    expect((await searchOf().page(testScope, criteriaOf({ limit: '4' }))).nextCursor).toBeNull();
    expect((await searchOf().page(testScope, criteriaOf({ limit: '3' }))).nextCursor).toBe('2');
  });

  test('[audit §4] another tenant or project, and the access log, are not in the result, and leave no gaps', async () => {
    const scopes = [testScope, { ...testScope, tenantId: 'other' }, { ...testScope, projectId: 'other' }];
    const logs = scopes.map((scope) => createAuditLog({ ...trail, scope }));
    const access = createAccessLog(trail);
    for (let index = 0; index < 5; index++) {
      await Promise.all(logs.map((each) => each.append(auditEntry())));
      await Promise.all(scopes.map((scope) => access.record(scope, auditEntry({ action: 'audit.event.search' }))));
    }
    for (const scope of scopes) {
      const page = await searchOf().page(scope, criteriaOf({}));
      expect(page.items.map((item) => item.sequence)).toEqual(['5', '4', '3', '2', '1']);
      expect(new Set(page.items.map((item) => item.action))).toEqual(new Set(['automation.rule.create']));
    }
    expect(await searchOf().page({ tenantId: 'none', projectId: 'none' }, criteriaOf({}))).toEqual({
      items: [],
      nextCursor: null,
    });
  });

  test('[audit §4] each filter reads its own index in sequence order, and no more of it than the page', async () => {
    await appendMany(3);
    const compiled: CompiledQuery[] = [];
    const query = trail.database.query.withPlugin({
      transformQuery({ node, queryId }) {
        compiled.push(trail.database.query.getExecutor().compileQuery(node, queryId));
        return node;
      },
      transformResult: ({ result }) => Promise.resolve(result),
    });
    const search = createAuditSearch({ database: { ...trail.database, query }, clock: trail.clock, scanWindow: 5000 });
    const indexes = {
      action: 'audit_event_action',
      subjectId: 'audit_event_subject',
      resourceId: 'audit_event_resource',
      resourceKind: 'audit_event_resource_kind',
    };
    if (typeof trail.place !== 'string') return;
    const raw = new DatabaseSync(trail.place);
    for (const [name, index] of Object.entries(indexes)) {
      compiled.length = 0;
      await search.page(testScope, criteriaOf({ [name]: 'something', cursor: '3' }));
      const last = compiled.at(-1);
      const parameters = (last?.parameters ?? []).map((value) => (typeof value === 'number' ? value : String(value)));
      const plan = raw.prepare(`EXPLAIN QUERY PLAN ${last?.sql}`).all(...parameters);
      // A single line: no sort step, and the index serves both bounds of the sequence.
      expect(plan.map((step) => step['detail'])).toEqual([
        expect.stringMatching(
          new RegExp(`USING INDEX ${index} \\(chain_id=\\? AND \\w+=\\? AND sequence>\\? AND sequence<\\?\\)`),
        ),
      ]);
    }
    raw.close();
  });

  test('[audit §4] a search with filters and times equals a naive one, for any `scan_window` and after the clock was set back', async () => {
    const day = Date.UTC(2026, 0, 1);
    const pick = <T>(...values: T[]) => fc.constantFrom(...values);
    const event = fc.record({
      minute: fc.integer({ min: 0, max: 9 }),
      action: pick('a.create', 'a.update'),
      subjectId: pick('ada', 'Ada', 'bob'),
      kind: pick('thing', 'other'),
      resourceId: pick('thing:0001', 'thing:0002', 'thing:0003'),
    });
    const moment = fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined });
    const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
    const asked = fc.record({
      action: optional(pick('a.create', 'a.update', 'a')),
      subjectId: optional(pick('ada', 'Ada', 'ADA')),
      resourceKind: optional(pick('thing', 'other')),
      resourceId: optional(pick('thing:0001', 'thing:0002')),
      from: moment,
      to: moment,
      limit: fc.integer({ min: 1, max: 12 }),
      cursor: optional(fc.integer({ min: 0, max: 45 })),
    });
    const minuteText = (minute: number): string => new Date(day + minute * 60_000).toISOString();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 40 }),
        fc.array(asked, { minLength: 10, maxLength: 10 }),
        fc.integer({ min: 1, max: 6 }),
        async (events, questions, scanWindow) => {
          const scope = { tenantId: `run-${run++}`, projectId: 'p' };
          const own = createAuditLog({ ...trail, scope });
          for (const { minute, action, subjectId, kind, resourceId } of events) {
            trail.clock.setWall(day + minute * 60_000);
            await own.append(
              auditEntry({ action, subject: { kind: 'user', subjectId }, resource: { kind, resourceId } }),
            );
          }
          for (const { from, to, limit, cursor, ...filters } of questions) {
            if (from !== undefined && to !== undefined && from > to) continue;
            const matching = events
              .map((one, index) => ({ ...one, sequence: index + 1 }))
              .filter(
                (one) =>
                  (filters.action ?? one.action) === one.action &&
                  (filters.subjectId ?? one.subjectId) === one.subjectId &&
                  (filters.resourceKind ?? one.kind) === one.kind &&
                  (filters.resourceId ?? one.resourceId) === one.resourceId &&
                  one.minute >= (from ?? 0) &&
                  one.minute <= (to ?? 9) &&
                  one.sequence < (cursor ?? 1000),
              )
              .map((one) => String(one.sequence))
              .toReversed();
            const text = Object.entries({
              ...filters,
              limit: String(limit),
              ...(cursor === undefined ? {} : { cursor: String(cursor) }),
              ...(from === undefined ? {} : { from: minuteText(from) }),
              ...(to === undefined ? {} : { to: minuteText(to) }),
            }).filter((pair): pair is [string, string] => pair[1] !== undefined);
            const page = await searchOf(scanWindow).page(scope, criteriaOf(Object.fromEntries(text)));
            expect(page.items.map((item) => item.sequence)).toEqual(matching.slice(0, limit));
            expect(page.nextCursor).toBe(matching.length > limit ? matching[limit - 1] : null);
          }
        },
      ),
      { numRuns: 60 },
    );
  }, 60_000);
});
