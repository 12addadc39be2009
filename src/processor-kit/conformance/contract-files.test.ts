/** docs/processor-contract: the committed files are the made ones, and what they say holds for a validator of others. */
import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { patched } from '../../base/json-patch.ts';
import { validateResult } from '../../contract/validate/result.ts';
import { digestOf } from '../../contract/wire/digest.ts';
import {
  bytesOf,
  caseNowMs,
  fixtureText,
  loadFixtureRoute,
  loadReceiver,
  processorHeaders,
} from '../../testing/load-fixture.ts';
import { checkRequest } from '../check-request.ts';
import { contractFiles, readExample } from './contract-files.ts';

const folder = new URL('../../../docs/processor-contract/', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, folder), 'utf8');
const json = (path: string): Record<string, unknown> => JSON.parse(read(path)) as Record<string, unknown>;
const rows = <T>(path: string): T[] =>
  read(path)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
const example = readExample(read('task.yaml'), read('examples/request.json'), read('examples/result-produced.json'));

describe('docs/processor-contract', () => {
  const files = contractFiles(example);

  test.each([...files])('%s is the made one (npm run processor:contract)', (path, text) => {
    expect(read(path)).toBe(text);
  });

  test('nothing else lies beside the made files', () => {
    const found = ['schemas', 'examples'].flatMap((part) =>
      readdirSync(new URL(part, folder)).map((name) => `${part}/${name}`),
    );
    const written = ['examples/request.json', 'examples/result-produced.json'];
    expect(found.toSorted()).toEqual([...files.keys(), ...written].toSorted());
  });

  test('the examples that are written by hand are those of the cases', () => {
    expect(json('examples/request.json')).toEqual(JSON.parse(fixtureText('load-processing-request.json')));
    expect(json('examples/result-produced.json')).toEqual(JSON.parse(fixtureText('load-processing-result.json')));
  });
});

describe('the schemas, read by another validator', () => {
  // Our formats are patterns; `strict` would refuse the union of series for want of a type beside anyOf.
  const ajv = new Ajv2020({ strict: 'log', allErrors: false, logger: false });
  const valid = (schema: string, value: unknown): boolean =>
    ajv.validate(json(`schemas/${schema}.schema.json`)['$id'] as string, value);
  for (const name of readdirSync(new URL('schemas', folder))) ajv.addSchema(json(`schemas/${name}`));

  test('every example is valid', () => {
    expect(valid('request', json('examples/request.json'))).toBe(true);
    expect(valid('frame', json('examples/request.json')['frame'])).toBe(true);
    for (const name of ['produced', 'fallback', 'unavailable'])
      expect(valid('result', json(`examples/result-${name}.json`))).toBe(true);
    expect(valid('forecast-output', json('examples/result-produced.json')['output'])).toBe(true);
    expect(valid('error', json('examples/error.json'))).toBe(true);
    expect(valid('health', json('examples/health.json'))).toBe(true);
  });

  test('a result that has another shape is not, and one that is merely untrue is', () => {
    const results = rows<{ name: string; patch: []; expected: { check: string; rule?: string } }>(
      'examples/hostile-results.jsonl',
    );
    for (const { name, patch, expected } of results) {
      const shapely = valid('result', patched<unknown>(json('examples/result-produced.json'), patch));
      // Of a day that does not exist a pattern knows nothing.
      const about = expected.check === 'shape' || expected.check === 'schema';
      if (!name.includes('a day that is none')) expect([name, shapely]).toEqual([name, !about]);
    }
    expect(results.length).toBeGreaterThan(50);
  });
});

describe('the hostile examples state the outcome', () => {
  test('each request gets its answer', () => {
    interface Row {
      readonly name: string;
      readonly patch?: [];
      readonly headers?: Record<string, string>;
      readonly body?: string;
      readonly expected: { readonly status: number; readonly category: string; readonly code: string };
    }
    for (const { name, patch, headers, body, expected } of rows<Row>('examples/hostile-requests.jsonl')) {
      const changed = patched(example.request, patch ?? []);
      const kept = JSON.stringify(patch ?? '').includes('/input_digest');
      const bytes =
        body === undefined
          ? bytesOf(kept ? changed : { ...changed, input_digest: digestOf(changed) })
          : new TextEncoder().encode(body);
      const checked = checkRequest({ headers: headers ?? processorHeaders, body: bytes }, loadReceiver);
      const seen = checked.ok
        ? null
        : { status: checked.refusal.status, category: checked.refusal.body.category, code: checked.refusal.body.code };
      expect([name, seen]).toEqual([name, expected]);
    }
  });

  test('each result is rejected by its check', () => {
    const question = { request: example.request, declaration: example.task, route: loadFixtureRoute, nowMs: caseNowMs };
    for (const { name, patch, expected } of rows<{ name: string; patch: []; expected: object }>(
      'examples/hostile-results.jsonl',
    )) {
      const verdict = validateResult(patched<unknown>(example.result, patch), question);
      expect([name, verdict]).toMatchObject([name, { outcome: 'rejected', rejection: expected }]);
    }
  });
});
