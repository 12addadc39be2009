/**
 * Every route of the running service, as the server itself lists them, against the contract: no more and
 * no less. A new route is added here with the sentence that requires it, or it does not ship.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/bin/config.ts';
import { type RunningService, startService } from '../../src/bin/service.ts';
import { root, serviceEnvironment, type TestFolders, testFolders, virtualSite } from './running-service.ts';

const rules = '/api/v1/automation/api';

/** [rules §2] and [audit §4]. */
const specified = [
  `GET ${rules}/rules`,
  `POST ${rules}/rules`,
  `GET ${rules}/rules/:id`,
  `PUT ${rules}/rules/:id`,
  `DELETE ${rules}/rules/:id`,
  `POST ${rules}/rules/:id/enable`,
  `POST ${rules}/rules/:id/disable`,
  `POST ${rules}/rules/:id/execute`,
  `GET ${rules}/rules/:id/variables`,
  `GET ${rules}/scheduler/status`,
  `POST ${rules}/scheduler/reload`,
  'GET /health',
  'GET /api/v1/platform',
  'GET /api/v1/audit/events',
  'GET /api/v1/audit/events/stream',
];

/** [audit §9] checkpoints and proofs. */
const proofs = [
  'GET /api/v1/audit/checkpoint',
  'GET /api/v1/audit/events/:sequence/proof',
  'GET /api/v1/audit/consistency',
];

/** [rules §2.6] history, explanation, catalogue; [rules §8] live stream. */
const decided = [
  `GET ${rules}/rules/:id/history`,
  `GET ${rules}/rules/:id/status`,
  `GET ${rules}/instances`,
  'GET /ws',
];

/** [rules §2.8] revisions, [rules §10.1] backtest, [rules §1.6] shadow, [rules §11] tests, [rules §12] files, [rules §13] templates. */
const revisions = [
  `GET ${rules}/rules/:id/revisions`,
  `GET ${rules}/rules/:id/revisions/:revision`,
  `GET ${rules}/rules/:id/diff`,
  `POST ${rules}/rules/:id/diff`,
  `POST ${rules}/rules/:id/restore`,
  `POST ${rules}/rules/:id/duplicate`,
  `POST ${rules}/rules/:id/backtest`,
  `POST ${rules}/rules/test`,
  `POST ${rules}/rules/plan`,
  `POST ${rules}/rules/apply`,
  `GET ${rules}/templates`,
  `POST ${rules}/rules/from-template`,
  `POST ${rules}/rules/:id/template-diff`,
  `POST ${rules}/rules/:id/template-update`,
  `POST ${rules}/rules/:id/promote`,
  `GET ${rules}/rules/:id/shadow-report`,
];

/** [points §7], [points §8], [points §9] the site at a glance and under manual control. */
const operator = [
  `GET ${rules}/points`,
  `GET ${rules}/points/:instance/:point_type/:point/series`,
  `GET ${rules}/points/:instance/:point_type/:point/rules`,
  `GET ${rules}/channels`,
  `GET ${rules}/channels/:channel/trace`,
  `GET ${rules}/channels/:channel/scan`,
  `GET ${rules}/points/:instance/action/:point/ownership`,
  `POST ${rules}/points/:instance/action/:point/override`,
  `POST ${rules}/points/:instance/action/:point/limit`,
  `GET ${rules}/overrides`,
  `DELETE ${rules}/overrides/:override_id`,
  `PUT ${rules}/parameters/:name`,
  `DELETE ${rules}/parameters/:name`,
];

/** [points §1.3] the site file. */
const site = [
  `GET ${rules}/site/changes`,
  `POST ${rules}/site/reload`,
  `POST ${rules}/site/points/preview`,
  `POST ${rules}/site/points`,
];

/** [alarms §4] alarms. */
const alarms = [
  `GET ${rules}/alarms`,
  `GET ${rules}/alarms/history`,
  `POST ${rules}/alarms/acknowledge`,
  `POST ${rules}/alarms/:alarm_id/acknowledge`,
  `POST ${rules}/alarms/:alarm_id/shelve`,
  `POST ${rules}/alarms/:alarm_id/unshelve`,
];

/** [platform §2.5], [platform §4.1] and [platform §4.2] operations; [identity §2] sign-in; [platform §2.3] console files. */
const decidedElsewhere = [
  'GET /ready',
  'GET /metrics',
  'GET /openapi.json',
  'GET /docs',
  'POST /session',
  'GET /session',
  'DELETE /session',
  'POST /session/password',
  'GET /api/v1/identity/tokens',
  'POST /api/v1/identity/tokens/revoke',
  'GET /api/v1/identity/users',
  'POST /api/v1/identity/users',
  'POST /api/v1/identity/users/:name/reset',
  'POST /api/v1/identity/users/:name/disable',
  'POST /api/v1/identity/users/:name/role',
  'GET /',
  'GET /assets/*',
  'GET /*',
  'GET /docs/js/scalar.js',
  'GET /docs/',
  ...readdirSync(join(root, 'docs', 'contract')).map((page) => `GET /docs/contract/${page}`),
];

/** [data-processing §5.1]: only when data processing is enabled. `/v1/*` belongs to the processor's own server. */
const dataProcessing = [
  'GET /api/v1/data-processing/tasks',
  'GET /api/v1/data-processing/processors/health',
  'POST /api/v1/data-processing/process',
];

let folders: TestFolders;
let service: RunningService;
let base: string;
beforeAll(async () => {
  folders = testFolders(virtualSite);
  const more = { SVC_LOG_LEVEL: 'silent', SVC_DATA_PROCESSING_ENABLED: 'false' };
  service = await startService(readConfig(serviceEnvironment(folders, more)));
  base = `http://${service.host}:${service.port}`;
});
afterAll(async () => {
  await service.stop();
  folders.remove();
});

test('the routes are those of the contract, and no other', () => {
  const stated = [...specified, ...proofs, ...decided, ...operator, ...revisions, ...site, ...alarms];
  const known = new Set([...stated, ...decidedElsewhere]);
  const routes = [...service.routes].filter((route) => !route.startsWith('HEAD '));
  expect(routes.filter((route) => !known.has(route))).toEqual([]);
  expect(stated.filter((route) => !service.routes.has(route))).toEqual([]);
});

test('[platform §2.6] every GET route has its HEAD, and nothing else has', () => {
  const pathsOf = (method: string) =>
    [...service.routes]
      .filter((route) => route.startsWith(`${method} `))
      .map((route) => route.slice(method.length + 1));
  expect(pathsOf('HEAD').toSorted()).toEqual(pathsOf('GET').toSorted());
});

test.each(['/health', '/api/v1/platform', '/ready'])(
  '[platform §2.6] %s ignores queries, HEAD included',
  async (path) => {
    const plain = await (await fetch(`${base}${path}`)).text();
    const asked = await fetch(`${base}${path}?probe=1&probe=2`);
    expect([asked.status, await asked.text()]).toEqual([200, plain]);
    const head = await fetch(`${base}${path}?probe=1`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, `${plain.length}`, '']);
  },
);

test('[platform §2.6] /metrics is behind authentication for others, so an unknown parameter is 400', async () => {
  expect((await fetch(`${base}/metrics?probe=1`)).status).toBe(400);
});

test('[platform §2.1] route families that are not exposed answer 404 in the envelope, with any method', async () => {
  const families = [
    '/api/v1/fleet',
    '/api/v1/fleet/devices',
    '/api/v1/gateways',
    '/api/v1/gateways/register',
    '/api/v1/enrollment',
    '/api/v1/enrollment/claims',
    '/api/v1/telemetry',
    '/api/v1/telemetry/points',
    '/api/v1/providers',
    '/api/v1/providers/regions',
    '/api/v1/deployments',
    '/api/v1/deployment-stacks',
    '/api/v1/commands',
    '/api/v1/webhooks',
    '/api/v1/exports',
    '/api/v1/audit/export',
    '/api/v1/audit/webhooks',
    '/api/v1/tools',
    '/mcp',
    '/sse',
    '/api/v1/mcp',
    '/v1/process',
    '/v1/health',
    ...dataProcessing.map((route) => route.slice(route.indexOf(' ') + 1)),
  ];
  for (const path of families)
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      const body = method === 'GET' ? {} : { body: '{}', headers: { 'content-type': 'application/json' } };
      const answer = await fetch(`${base}${path}`, { method, ...body });
      const text = await answer.text();
      expect([answer.status, text], `${method} ${path}`).toEqual([404, expect.stringContaining('"code":"not-found"')]);
    }
});

test('[audit §4] the audit routes have no other method', async () => {
  for (const path of ['/api/v1/audit/events', '/api/v1/audit/events/stream', '/health', '/api/v1/platform'])
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect((await fetch(`${base}${path}`, { method })).status, `${method} ${path}`).toBe(404);
});
