/** The audit and platform routes from outside [audit §4], [identity §4], [platform §2.1]: real server, real identity, real store. */
import { generateKeyPairSync } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { createIdentity } from '../gateway/identity.ts';
import { identityConfig } from '../gateway/identity-config.ts';
import { gatewayLimits } from '../gateway/limits.ts';
import { createRateLimits } from '../gateway/rate-limit.ts';
import { createServer, type Server } from '../gateway/server.ts';
import { healthCapability } from '../platform/health.ts';
import { metadataCapability } from '../platform/metadata.ts';
import { auditEntry, type TestTrail, testAuditKey, testScope, testSigner, testTrail } from '../testing/audit-trail.ts';
import { engines } from '../testing/engines.ts';
import { auditCapabilities } from './capabilities.ts';
import { type AuditLog, createAccessLog, createAuditLog } from './log.ts';
import { createAuditSearch } from './search.ts';

const token = 'opaque-token-of-more-than-32-characters';
const environment = {
  SVC_CLOUD_API_BEARER_TOKEN: token,
  SVC_CLOUD_API_TENANT_ID: testScope.tenantId,
  SVC_CLOUD_API_PROJECT_ID: testScope.projectId,
  SVC_CLOUD_API_SUBJECT_ID: 'auditor',
  SVC_CLOUD_API_PERMISSIONS: 'audit.event.read',
};
const events = '/api/v1/audit/events';
const stream = '/api/v1/audit/events/stream';

interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

describe.each(engines)('area B over HTTP, on %s', (engine) => {
  let trail: TestTrail;
  let log: AuditLog;
  let server: Server;
  let port: number;
  const pair = generateKeyPairSync('ed25519');

  const start = async (env: Readonly<Record<string, string>> = environment): Promise<void> => {
    const { proofs } = testSigner(trail, { key: testAuditKey() });
    const search = createAuditSearch({ ...trail, scanWindow: 5000 });
    const parts = { search, proofs, access: createAccessLog(trail) };
    server = createServer({
      capabilities: [healthCapability('1.2.3'), metadataCapability(), ...auditCapabilities(parts)],
      identity: createIdentity({
        session: async () => null,
        isRevoked: async () => false,
        config: identityConfig(env),
        key: pair,
        site: testScope,
        clock: systemClock,
        log: silentLog,
        limits: gatewayLimits,
      }),
      audit: log,
      site: testScope,
      rateLimits: createRateLimits(gatewayLimits),
      log: silentLog,
      limits: gatewayLimits,
      clock: systemClock,
    });
    port = (await server.listen('127.0.0.1', 0)).port;
  };
  beforeEach(async () => {
    trail = await testTrail(engine);
    log = createAuditLog({ ...trail, scope: testScope });
    await start();
  });
  afterEach(async () => {
    await server.close();
    await trail.close();
  });

  /** Sent raw, so that headers can be empty or repeated. */
  const send = (path: string, headers: Record<string, string | string[]> = {}, bearer: string | null = token) =>
    new Promise<Sent>((resolve, reject) => {
      const authorization = bearer === null ? {} : { authorization: `Bearer ${bearer}` };
      const options = { port, host: '127.0.0.1', path, headers: { ...authorization, ...headers }, agent: false };
      httpRequest(options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      })
        .on('error', reject)
        .end();
    });
  const jwt = (claims: Readonly<Record<string, unknown>>): Promise<string> =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'EdDSA' })
      .setSubject('ada')
      .setExpirationTime('1h')
      .sign(pair.privateKey);
  const accessRows = (tenantId = testScope.tenantId) =>
    trail.database.query
      .selectFrom('audit_event')
      .innerJoin('audit_chain', 'audit_chain.chain_id', 'audit_event.chain_id')
      .where('log', '=', 'access')
      .where('tenant_id', '=', tenantId)
      .select(['audit_event.sequence', 'action', 'outcome', 'subject_id', 'correlation_id'])
      .orderBy('audit_event.sequence')
      .execute();

  test('[platform §4.1] health and platform are public, exact, and the same for everyone', async () => {
    const health = await send('/health', {}, null);
    expect([health.status, health.text]).toEqual([200, '{"status":"ok","service":"svc-cloud-api","version":"1.2.3"}']);
    const platform = await send('/api/v1/platform', {}, null);
    expect(platform.text).toBe(
      '{"name":"Setpoint","role":"ai-native-multi-cloud-iot-control-plane","authority":{"livePointState":"edge",' +
        '"physicalControl":"edge","tenantIdentity":"svc-cloud","desiredRevision":"svc-cloud","placementPolicy":"svc-cloud",' +
        '"actualInfrastructure":"provider"},"multiCloud":{"providerModel":"capability-driven-adapters",' +
        '"executionEngines":["opentofu","terraform"],"stateIsolation":"deployment-stack"}}',
    );
    expect(platform.headers['content-type']).toBe('application/json; charset=utf-8');
    expect((await send('/api/v1/platform')).text).toBe(platform.text);
  });

  test('[platform §4.1] health and platform answer without the store: they do no I/O', async () => {
    await trail.database.query.schema.dropTable('audit_chain').execute();
    expect((await send('/health', {}, null)).status).toBe(200);
    expect((await send('/api/v1/platform', {}, null)).status).toBe(200);
    const refused = await send(events);
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
      503,
      { error: { code: 'storage-unavailable', retryable: true } },
    ]);
    expect(refused.text).not.toMatch(/sqlite|database|select|destroy/i);
  });

  test('[audit §1] an item has its keys in order, optional ones left out, times with 3 digits', async () => {
    const traceId = 'ab'.repeat(16);
    await log.append(auditEntry({ traceId, details: { b: 1 } }));
    await log.append(auditEntry({ outcome: 'failed' }));
    const { items, nextCursor } = JSON.parse((await send(events)).text);
    expect(nextCursor).toBeNull();
    const required = [
      'eventId',
      'sequence',
      'occurredAt',
      'subject',
      'action',
      'resource',
      'outcome',
      'risk',
      'confirmation',
      'correlationId',
    ];
    expect(Object.keys(items[0])).toEqual(required);
    expect(Object.keys(items[1])).toEqual([...required, 'traceId', 'detailsDigest']);
    expect(items[1]).toMatchObject({
      sequence: '1',
      occurredAt: '2026-01-01T00:00:00.000Z',
      subject: { kind: 'user', subjectId: 'ada' },
      resource: { kind: 'automation-rule', resourceId: 'automation-rule:new' },
      traceId,
    });
    expect(Object.keys(items[1].subject)).toEqual(['kind', 'subjectId']);
    expect(Object.keys(items[1].resource)).toEqual(['kind', 'resourceId']);
    expect(items[1].detailsDigest).toMatch(/^[0-9a-f]{64}$/);
  });

  test('[audit §5] the stream is the same page, byte by byte, and ends with snapshot-complete', async () => {
    for (let index = 0; index < 12; index++) await log.append(auditEntry());
    for (const query of ['', '?limit=5', '?limit=5&cursor=9', '?action=none', '?limit=100&cursor=1']) {
      const page = JSON.parse((await send(`${events}${query}`)).text) as { items: { sequence: string }[] };
      const answer = await send(`${stream}${query}`);
      const wanted = page.items.map(
        (item) => `id: ${item.sequence}\nevent: audit.event\ndata: ${JSON.stringify(item)}\n\n`,
      );
      expect(answer.text).toBe(`${wanted.join('')}: snapshot-complete\n\n`);
      expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8');
      expect(answer.headers['cache-control']).toBe('no-store');
    }
  });

  test('[audit §5] Last-Event-ID resumes the stream, agrees with a cursor, and follows its grammar', async () => {
    for (let index = 0; index < 12; index++) await log.append(auditEntry());
    const ids = async (path: string, id: string): Promise<string[]> =>
      [...(await send(path, { 'last-event-id': id })).text.matchAll(/^id: (\d+)$/gm)].map((match) => match[1] ?? '');
    expect(await ids(`${stream}?limit=3`, '10')).toEqual(['9', '8', '7']);
    expect(await ids(`${stream}?limit=3&cursor=10`, '10')).toEqual(['9', '8', '7']);
    expect(await ids(stream, '1')).toEqual([]);
    const refused: [string, string | string[]][] = [
      [`${stream}?cursor=9`, '10'],
      [stream, ''],
      [stream, '07'],
      [stream, '+7'],
      [stream, '-1'],
      [stream, '1e1'],
      [stream, '18446744073709551616'],
      [stream, ['7', '7']],
    ];
    for (const [path, id] of refused) {
      const answer = await send(path, { 'last-event-id': id });
      expect([answer.status, answer.headers['content-type']], String(id)).toEqual([
        400,
        'application/json; charset=utf-8',
      ]);
    }
    // Two spellings of "beyond the store" are two different sequences.
    expect(
      (await send(`${stream}?cursor=9223372036854775808`, { 'last-event-id': '9223372036854775809' })).status,
    ).toBe(400);
    // The query ignores the header.
    expect(JSON.parse((await send(events, { 'last-event-id': 'x' })).text).items).toHaveLength(12);
  });

  test('[audit §4] the grammar of every parameter, at its edges', async () => {
    for (let index = 0; index < 3; index++) await log.append(auditEntry());
    const good = [
      'limit=1',
      'limit=9',
      'limit=10',
      'limit=99',
      'limit=100',
      'cursor=0',
      'cursor=1',
      'cursor=9223372036854775807',
      'cursor=9223372036854775808',
      'cursor=18446744073709551615',
      'from=2026-01-01T00:00:00Z',
      'to=2026-01-01T00:00:00.000Z',
      'from=2024-02-29T23:59:59.999Z',
      'from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00.000Z',
      'action=a',
      `action=${'a'.repeat(128)}`,
      'subjectId=auth0%7C7',
      `subjectId=${'s'.repeat(128)}`,
      'resourceId=12345678',
      `resourceId=${'r'.repeat(128)}`,
      'resourceKind=k',
    ];
    for (const query of good) expect((await send(`${events}?${query}`)).status, query).toBe(200);
    const bad = [
      'limit=0',
      'limit=101',
      'limit=007',
      'limit=1e1',
      'limit=%2B5',
      'limit=-1',
      'limit=',
      'limit=5.0',
      'limit=%205',
      'cursor=',
      'cursor=01',
      'cursor=-1',
      'cursor=%2B1',
      'cursor=1.0',
      'cursor=18446744073709551616',
      'cursor=0x1',
      'from=',
      'from=2026-01-01',
      'from=2026-01-01T00:00:00',
      'from=2026-01-01T00:00:00.1Z',
      'from=1767225600000',
      'from=2026-01-01T00:00:00.0000Z',
      'from=2026-01-01T00:00:00%2B00:00',
      'from=2026-01-01t00:00:00z',
      'to=2026-02-30T00:00:00Z',
      'to=2025-02-29T00:00:00Z',
      'to=2026-01-01T24:00:00Z',
      'to=2026-01-01T00:00:60Z',
      'from=2026-01-01T00:00:00.001Z&to=2026-01-01T00:00:00Z',
      'action=',
      'action=a%20b',
      `action=${'a'.repeat(129)}`,
      'subjectId=',
      `subjectId=${'s'.repeat(129)}`,
      'resourceId=1234567',
      `resourceId=${'r'.repeat(129)}`,
      'resourceKind=',
      'limit=5&limit=5',
      'action=a&action=b',
      'unknown=1',
      'Limit=5',
      'tenantId=other',
      'projectId=other',
      '__proto__=1',
    ];
    for (const query of bad)
      for (const path of [events, stream]) {
        const answer = await send(`${path}?${query}`);
        expect([answer.status, JSON.parse(answer.text).error.code], query).toEqual([400, 'invalid-input']);
        expect(answer.headers['x-correlation-id']).toBe(JSON.parse(answer.text).error.correlationId);
      }
  });

  test('[audit §4] the default limit is 50', async () => {
    await Promise.all(Array.from({ length: 60 }, () => log.append(auditEntry())));
    const page = JSON.parse((await send(events)).text);
    expect([page.items.length, page.nextCursor]).toEqual([50, '11']);
  });

  test('[audit §4] every audit answer carries x-correlation-id; 401 before 403 before 400', async () => {
    const viewer = await jwt({ role: 'Viewer' });
    const bad = `${events}?limit=0`;
    const order: [string | null, number, string][] = [
      [null, 401, 'unauthenticated'],
      ['wrong', 401, 'unauthenticated'],
      [viewer, 403, 'permission-denied'],
      [token, 400, 'invalid-input'],
    ];
    for (const [bearer, status, code] of order) {
      for (const path of [bad, `${stream}?limit=0`]) {
        const answer = await send(path, { 'x-correlation-id': 'caller-chosen-1' }, bearer);
        expect([answer.status, JSON.parse(answer.text).error]).toMatchObject([
          status,
          { code, correlationId: 'caller-chosen-1' },
        ]);
        expect(answer.headers['x-correlation-id']).toBe('caller-chosen-1');
        expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer' : undefined);
      }
    }
    expect((await send(events)).headers['x-correlation-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect((await send(events, { 'x-correlation-id': 'short' })).headers['x-correlation-id']).not.toBe('short');
  });

  test('[identity §4] missing configuration denies every request of the opaque token', async () => {
    for (const name of Object.keys(environment)) {
      for (const value of [undefined, '']) {
        await server.close();
        const { [name]: _, ...rest } = { ...environment } as Record<string, string>;
        await start(value === undefined ? rest : { ...rest, [name]: value });
        expect((await send(events)).status, name).toBe(401);
        expect((await send(events, {}, '')).status, name).toBe(401);
      }
    }
    await server.close();
    await start({ ...environment, SVC_CLOUD_API_PERMISSIONS: 'audit.event.write, automation.read' });
    expect((await send(events)).status).toBe(403);
  });

  test('[audit §4] the scope is the token’s own pair; nothing tells that other tenants have events', async () => {
    await Promise.all(Array.from({ length: 7 }, () => log.append(auditEntry())));
    const own = await jwt({ role: 'Admin' });
    const other = await jwt({ role: 'Admin', tenant_id: 'tenant-2', project_id: testScope.projectId });
    const otherProject = await jwt({ role: 'Admin', tenant_id: testScope.tenantId, project_id: 'project-2' });
    expect(JSON.parse((await send(events, {}, own)).text).items).toHaveLength(7);
    const headers = { 'x-tenant-id': testScope.tenantId, 'x-svc-tenant': testScope.tenantId };
    for (const stranger of [other, otherProject]) {
      for (const query of ['', '?cursor=7', '?action=automation.rule.create', '?from=2026-01-01T00:00:00Z'])
        expect((await send(`${events}${query}`, headers, stranger)).text).toBe('{"items":[],"nextCursor":null}');
      expect((await send(stream, { 'last-event-id': '7' }, stranger)).text).toBe(': snapshot-complete\n\n');
      expect((await send(`${events}?tenantId=${testScope.tenantId}`, {}, stranger)).status).toBe(400);
    }
    const second = createAuditLog({ ...trail, scope: { tenantId: 'tenant-2', projectId: testScope.projectId } });
    await second.append(auditEntry());
    expect(JSON.parse((await send(events, {}, other)).text).items).toMatchObject([{ sequence: '1' }]);
  });

  test('[audit §4] each search writes one record to the access log and none to the result; refused ones too', async () => {
    await log.append(auditEntry());
    await send(events, { 'x-correlation-id': 'search-number-1' });
    await send(`${stream}?limit=2`, { 'x-correlation-id': 'search-number-2' });
    await send(events, { 'x-correlation-id': 'search-number-3' }, await jwt({ role: 'Viewer' }));
    await send(`${events}?limit=0`);
    await send(events, {}, 'wrong');
    expect(await accessRows()).toEqual([
      {
        sequence: 1,
        action: 'audit.event.search',
        outcome: 'succeeded',
        subject_id: 'auditor',
        correlation_id: 'search-number-1',
      },
      {
        sequence: 2,
        action: 'audit.event.stream',
        outcome: 'succeeded',
        subject_id: 'auditor',
        correlation_id: 'search-number-2',
      },
      {
        sequence: 3,
        action: 'audit.event.search',
        outcome: 'denied',
        subject_id: 'ada',
        correlation_id: 'search-number-3',
      },
    ]);
    expect(JSON.parse((await send(events)).text).items).toHaveLength(1);
    const details = await trail.database.query.selectFrom('audit_details').select('details').execute();
    expect(details.map((row) => JSON.parse(row.details))).toContainEqual({
      asked: { limit: '2' },
      seen: { items: 1, newest: '1', oldest: '1' },
    });
  });

  test('[audit §4] a search whose record cannot be written gets no result', async () => {
    await log.append(auditEntry({ action: 'secret.action' }));
    await trail.database.query.schema.dropTable('audit_details').execute();
    const answer = await send(events);
    expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([503, 'storage-unavailable']);
    expect(answer.text).not.toContain('secret.action');
  });
});
