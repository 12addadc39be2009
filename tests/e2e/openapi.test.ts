/** [platform §2.5]: the description is valid, matches the service, and its examples work as they are. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples } from '../../src/api/examples.ts';
import { operations } from '../../src/api/operations.ts';
import { dataProcessing } from '../../src/api/processing-capabilities.ts';
import { createAnswerCheck, type Described } from './described.ts';
import {
  root,
  startTestService,
  type TestFolders,
  type TestService,
  testFolders,
  virtualSite,
  waitFor,
} from './running-service.ts';

const demoPoints = virtualSite
  .replace('name: level, kind: measurement, unit: m,', 'name: level, kind: measurement, unit: "%",')
  .replace('  limit: { value: 10, unit: m }', '  demand_limit: { value: 200, unit: kW }')
  .replace('id: 1\n    name: tank', 'id: 4\n    name: battery')
  .replace(
    '{ id: 1, name: pump, kind: action, unit: kW, min: 0,',
    '{ id: 1, name: pump, kind: action, unit: kW, min: -100,',
  );

/** Data processing has to be switched on, and has its own test below. */
const always = operations.filter(({ name }) => !name.startsWith('data_processing.'));

let folders: TestFolders;
let service: TestService;
let description: Described;
beforeAll(async () => {
  folders = testFolders(demoPoints);
  service = await startTestService(folders, { SVC_LOG_LEVEL: 'info' });
  description = (await (await fetch(`${service.base}/openapi.json`)).json()) as Described;
});
afterAll(async () => {
  await service.stop();
  folders.remove();
});

describe('[platform §2.5] the description', () => {
  test('is valid OpenAPI 3.1, public, and the same for every caller', async () => {
    const answer = await fetch(`${service.base}/openapi.json`, { headers: { authorization: 'Bearer none' } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(await new Validator().validate((await answer.json()) as { openapi: string })).toEqual({ valid: true });
    expect(description.openapi).toBe('3.1.0');
  });

  test('numbers of paths and queries are integers with their limits, and texts that contain digits are not', () => {
    const schemas = (path: string) =>
      Object.fromEntries(
        (Object(description.paths[path])['get'].parameters as { name: string; schema: object }[]).map(
          ({ name, schema }) => [name, schema],
        ),
      );
    expect(schemas('/api/v1/automation/api/points')).toMatchObject({
      instance: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
      page: { type: 'integer', minimum: 1, maximum: 999_999_999 },
      page_size: { type: 'integer', minimum: 1, maximum: 500 },
      search: { type: 'string' },
    });
    expect(schemas('/api/v1/audit/events')).toMatchObject({
      limit: { type: 'integer', minimum: 1, maximum: 100 },
      cursor: { type: 'string' },
      from: { type: 'string' },
    });
  });

  test('every component is used', () => {
    const text = JSON.stringify(description);
    const kinds = Object(description)['components'] as Record<string, Record<string, unknown>>;
    const unused = Object.entries(kinds)
      .filter(([kind]) => kind !== 'securitySchemes')
      .flatMap(([kind, members]) => Object.keys(members).map((name) => `#/components/${kind}/${name}`))
      .filter((reference) => !text.includes(`"${reference}"`));
    expect(unused).toEqual([]);
  });

  test('has every operation once, and every path parameter', () => {
    const described = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(described.toSorted()).toEqual(always.map(({ method, path }) => `${method} ${path}`).toSorted());
    const ids = Object.values(description.paths).flatMap((methods) =>
      Object.values(methods).map((operation) => Object(operation)['operationId'] as string),
    );
    expect(new Set(ids).size).toBe(always.length);
  });

  test('names no host, file or value of the site', () => {
    const text = JSON.stringify(description);
    expect(text).not.toMatch(/https?:\/\//);
    for (const secret of [folders.data, folders.config, 'tenant-', 'Plant 1', root]) expect(text).not.toContain(secret);
  });

  test('an answer that is not as described is found', () => {
    const check = createAnswerCheck(description);
    const answered = { method: 'GET', path: '/health', status: 200, type: 'application/json' };
    expect(check.faultOf({ ...answered, text: '{"status":"ok","service":"s","version":"1"}' })).toBeNull();
    expect(check.faultOf({ ...answered, text: '{"status":"ok","service":"s"}' })).toMatch(/version/);
    expect(check.faultOf({ ...answered, text: '{"status":"ok","service":"s","version":"1","x":1}' })).toMatch(
      /additional/,
    );
    expect(check.faultOf({ ...answered, status: 201, text: '{}' })).toMatch(/201/);
    expect(check.faultOf({ ...answered, status: 503, text: '{"error":{"code":"x"}}' })).not.toBeNull();
  });
});

describe('[platform §2.5] the examples', () => {
  const sent = always.flatMap((capability) =>
    (examples[capability.name] ?? []).map((example) => ({ capability, example })),
  );
  // Deleting comes last: every other example is about rule 1.
  const ordered = [
    ...sent.filter(({ capability }) => capability.name === 'automation.rule.create'),
    ...sent.filter(({ capability }) => !/\.(create|delete)$/.test(capability.name)),
    ...sent.filter(({ capability }) => capability.name === 'automation.rule.delete'),
  ];

  test('every operation has one, but those that no fixed text can call', () => {
    const without = operations.filter(({ name }) => (examples[name] ?? []).length === 0).map(({ name }) => name);
    // Two need a code that is made for them, one a cookie, two a rule that was made from a template, one an override in force, three a checkpoint, one a result that is kept, one a moment with recorded history and a processor.
    expect(without).toEqual([
      'identity.token.issue',
      'identity.password.set',
      'identity.session.close',
      'automation.rule.template-diff',
      'automation.rule.template-update',
      'automation.point.release',
      'automation.channel.trace',
      'automation.channel.scan',
      'audit.checkpoint.read',
      'audit.event.proof',
      'audit.log.consistency',
      'data_processing.results.get',
      'data_processing.process',
    ]);
    expect(Object.keys(examples).filter((name) => !operations.some((capability) => capability.name === name))).toEqual(
      [],
    );
  });

  test.each(ordered.map((each) => [`${each.capability.name} ${each.example.name}`, each] as const))(
    '%s',
    async (_name, { capability, example }) => {
      // The override of an example is in force; its alarm follows within a second.
      if (capability.name === 'automation.alarm.acknowledge')
        await waitFor(async () => (await service.read('/alarms')).text.includes('active-unacknowledged'));
      const path = capability.path.replaceAll(/:(\w+)/g, (_, name: string) => example.params?.[name] ?? '');
      const query = new URLSearchParams(example.query).toString();
      const answer = await service.request(capability.method, `${path}${query === '' ? '' : `?${query}`}`, {
        token: await service.token('Admin'),
        ...(example.body === undefined ? {} : { body: example.body }),
        ...(capability.confirmation === 'always' ? { headers: { 'x-svc-confirmed': 'true' } } : {}),
      });
      expect(answer.status, answer.text).toBe(200);
      if (example.answer === undefined) return;
      const check = createAnswerCheck(description);
      const shown = { method: capability.method, path, status: 200, type: 'application/json' };
      expect(check.faultOf({ ...shown, text: JSON.stringify(example.answer) })).toBeNull();
    },
  );
});

describe('[platform §2.5] the page', () => {
  test('is public, loads from the service alone, and its policy lets nothing else in', async () => {
    const page = await fetch(`${service.base}/docs`);
    expect([page.status, new URL(page.url).pathname]).toEqual([200, '/docs/']);
    const html = await page.text();
    expect(html).not.toMatch(/(src|href)="(https?:)?\/\//);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/);
    for (const path of ['/docs', '/docs/', '/openapi.json']) {
      const [head, get] = await Promise.all(
        ['HEAD', 'GET'].map((method) => fetch(`${service.base}${path}`, { method, redirect: 'manual' })),
      );
      expect([head?.status, head?.headers.get('content-type')]).toEqual([
        get?.status,
        get?.headers.get('content-type'),
      ]);
      expect(await head?.text()).toBe('');
    }
    const contract = await fetch(`${service.base}/docs/contract/rules.md`);
    expect([contract.status, contract.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(await contract.text()).toBe(readFileSync(join(root, 'docs', 'contract', 'rules.md'), 'utf8'));
    const script = await fetch(`${service.base}/docs/js/scalar.js`);
    expect([script.status, script.headers.get('content-type')]).toEqual([200, 'application/javascript; charset=utf-8']);
    expect((await script.text()).length).toBeGreaterThan(100_000);
  });
});

describe('[data-processing §2.1] data processing, where it is switched on', () => {
  test('is described too, and its examples work', async () => {
    const demo = testFolders(demoPoints);
    const running = await startTestService(demo, {
      SVC_CONFIG_DIR: join(root, 'config', 'demo'),
      SVC_DATA_PROCESSING_ENABLED: 'true',
    });
    try {
      const text = await (await fetch(`${running.base}/openapi.json`)).text();
      expect(await new Validator().validate(JSON.parse(text) as { openapi: string })).toEqual({ valid: true });
      const described = Object.keys((JSON.parse(text) as Described).paths).filter((path) =>
        path.includes('data-processing'),
      );
      expect(described.toSorted()).toEqual(
        Object.values(dataProcessing)
          .map(({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'))
          .toSorted(),
      );
      for (const { name, method, path } of Object.values(dataProcessing))
        for (const { query } of examples[name] ?? [])
          expect((await running.request(method, `${path}?${new URLSearchParams(query).toString()}`)).status).toBe(200);
      const refused = await running.request('POST', dataProcessing.process.path, { body: {} });
      expect(refused.status, refused.text).toBe(400);
      const { text: metrics } = await running.request('GET', '/metrics');
      expect(metrics).toMatch(/^setpoint_processor_breaker_open\{processor="[^"]+"\} 0$/m);
    } finally {
      await running.stop();
      demo.remove();
    }
  });
});
