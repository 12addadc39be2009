/** Decoding of messages from outside: lexical rules and collection limits of [data-processing §1.3], each at its edge. */
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { processingFrameSchema, requestEnvelopeSchema } from '../../api/processing.ts';
import { type PatchOperation, patched } from '../../base/json-patch.ts';
import { parseTimestamp } from '../../base/timestamp.ts';
import { loadRequest, loadResult } from '../../testing/load-fixture.ts';
import { decodeForecastOptions } from '../kind/forecast-options.ts';
import { decodeFrame } from './frame-decode.ts';
import type { Wire } from './issue.ts';
import { isPlainEncoding, isProcessorMediaType } from './media-type.ts';
import { decodeMessage } from './message.ts';
import { decodeEnvelope } from './request-decode.ts';
import { decodeResult } from './result-decode.ts';

const told = (decoded: Wire<unknown>): string => (decoded.ok ? 'ok' : `${decoded.issue.path} ${decoded.issue.rule}`);
const frame = (...operations: PatchOperation[]) => told(decodeFrame(patched<unknown>(loadRequest.frame, operations)));
const result = (...operations: PatchOperation[]) => told(decodeResult(patched<unknown>(loadResult, operations)));
const envelope = (path: string, value: unknown): string => {
  const decoded = decodeEnvelope(patched<unknown>(loadRequest, [{ op: 'replace', path, value }]));
  return decoded.ok ? 'ok' : `${decoded.fault.issue.path} ${decoded.fault.issue.rule}`;
};
const replace = (path: string, value: unknown): PatchOperation => ({ op: 'replace', path, value });
const add = (path: string, value: unknown): PatchOperation => ({ op: 'add', path, value });
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

describe('[data-processing §1.3]', () => {
  test('identifiers: 1..256, starting alphanumeric, of A-Za-z0-9._:-', () => {
    for (const id of ['a', '9', 'a.b_c:d-e', 'a'.repeat(256)]) expect(envelope('/task/id', id)).toBe('ok');
    for (const id of ['', '.a', '-a', 'a b', 'ä', 'a/b', 'a\n', 'a'.repeat(257)])
      expect(envelope('/task/id', id)).toBe('/task/id pattern');
  });

  test('revisions: 1..4294967295, whole', () => {
    expect([envelope('/task/revision', 1), envelope('/task/revision', 4_294_967_295)]).toEqual(['ok', 'ok']);
    for (const revision of [0, -1, 4_294_967_296])
      expect(envelope('/task/revision', revision)).toBe('/task/revision bounds');
    for (const revision of [1.5, '1', null]) expect(envelope('/task/revision', revision)).toBe('/task/revision type');
  });

  test('request_id: a UUID in any case', () => {
    expect(envelope('/request_id', '0190AEE6-2139-7a87-8448-806F1B843201')).toBe('ok');
    for (const id of [
      '0190aee621397a878448806f1b843201',
      '{0190aee6-2139-7a87-8448-806f1b843201}',
      '0190aee6-2139-7a87-8448-806f1b84320',
      'g190aee6-2139-7a87-8448-806f1b843201',
    ])
      expect(envelope('/request_id', id)).toBe('/request_id pattern');
  });

  test('timestamps: Z, 0 to 3 digits, real dates, 1970..9999, seconds 00..59; normalised', () => {
    for (const text of [
      '2099-07-11T12:00:06Z',
      '2099-07-11T12:00:06.1Z',
      '2099-07-11T12:00:06.12Z',
      '2099-07-11T12:00:06.123Z',
      '2096-02-29T00:00:00Z',
      '9999-12-31T23:59:59.999Z',
    ])
      expect(envelope('/deadline', text)).toBe('ok');
    for (const text of [
      '2099-07-11T12:00:06.1234Z',
      '2099-07-11T12:00:06.Z',
      '2099-07-11T12:00:06z',
      '2099-07-11t12:00:06Z',
      '2099-07-11T12:00:06+00:00',
      '2099-07-11T12:00:60Z',
      '2099-07-11T24:00:00Z',
      '2099-13-01T00:00:00Z',
      '1969-12-31T23:59:59Z',
      '+12099-07-11T12:00:06Z',
      '2099-07-11T12:00Z',
      '2099-07-11',
    ])
      expect(envelope('/deadline', text)).toBe('/deadline pattern');
    for (const text of ['2099-02-29T00:00:00Z', '2099-04-31T00:00:00Z'])
      expect(envelope('/deadline', text)).toBe('/deadline timestamp');
    const decoded = decodeEnvelope({
      ...loadRequest,
      deadline: '2099-07-11T12:00:06.1Z',
      submitted_at: '2026-07-11T12:00:01.000Z',
    });
    expect(decoded).toMatchObject({
      value: { deadline: '2099-07-11T12:00:06.100Z', submitted_at: '2026-07-11T12:00:01Z' },
    });
  });

  test('feature names: 1..128 without control characters', () => {
    const named = (name: string): string => {
      const { load, ...others } = loadRequest.frame.history.features;
      return told(
        decodeFrame({
          ...loadRequest.frame,
          history: { ...loadRequest.frame.history, features: { ...others, [name]: load } },
        }),
      );
    };
    for (const name of ['x', 'Außen temperatur/°C ~', 'n'.repeat(128)]) expect(named(name)).toBe('ok');
    for (const name of ['', 'a\u0000', 'a\u001f', 'a\u007f', 'a\u0085', 'n'.repeat(129)])
      expect(named(name)).toBe('/history/features name');
  });

  test('units 1..64, source_ref 1..2048, codes 1..128 in capitals', () => {
    const unit = (text: string) => frame(replace('/history/features/load/unit', text));
    expect([unit('k'), unit('k'.repeat(64)), unit(''), unit('k'.repeat(65))]).toEqual([
      'ok',
      'ok',
      '/history/features/load/unit length',
      '/history/features/load/unit length',
    ]);
    const ref = (text: string) => frame(replace('/provenance/0/source_ref', text));
    expect([ref('a'), ref('a'.repeat(2048)), ref('a'.repeat(2049)), ref('a:b'), ref('/a')]).toEqual([
      'ok',
      'ok',
      ...times(3, () => '/provenance/0/source_ref pattern'),
    ]);
    const warning = (text: string) => result(replace('/warnings', [text]));
    expect([warning('A'), warning('A9_'), warning('A'.repeat(128))]).toEqual(['ok', 'ok', 'ok']);
    expect([warning('a'), warning('9A'), warning('A'.repeat(129))]).not.toContain('ok');
  });

  test('explicit nulls are refused outside values and value', () => {
    for (const path of [
      '/schema',
      '/as_of',
      '/history',
      '/quality',
      '/provenance',
      '/provenance/0/source_ref',
      '/history/features/load/unit',
      '/static_features',
    ])
      expect(frame(replace(path, null))).not.toBe('ok');
    expect(frame(replace('/history/features/load/values/0', null))).toBe('ok');
    expect(frame(add('/future_covariates', null))).toBe('/future_covariates type');
  });

  test('unknown members are refused everywhere, before anything else that is wrong', () => {
    for (const path of ['', '/history', '/history/features/load', '/future_covariates', '/quality', '/provenance/0'])
      expect(frame(add(`${path}/vendor`, 1), replace('/as_of', 'never'))).toBe(`${path} unknown_member`);
    expect(
      frame(add('/static_features/x', { value_type: 'number', unit: '1', value: 1, quality: 'good', vendor: 1 })),
    ).toBe('/static_features/x unknown_member');
  });
});

describe('[data-processing §1.4]', () => {
  const series = (count: number) => ({
    value_type: 'boolean',
    values: times(count, () => true),
    quality: times(count, () => 'good'),
  });

  test('timestamps 1..20000', () => {
    const stamps = (count: number) =>
      frame(
        replace('/history', { timestamps: times(count, () => '2026-07-11T12:00:00Z'), features: { a: series(1) } }),
      );
    expect([stamps(1), stamps(20_000)]).toEqual(['ok', 'ok']);
    expect([stamps(0), stamps(20_001)]).toEqual(times(2, () => '/history/timestamps length'));
    const values = (count: number) => frame(replace('/history/features/load', series(count)));
    expect([values(20_000), values(20_001), values(0)]).toEqual([
      'ok',
      '/history/features/load/values length',
      '/history/features/load/values length',
    ]);
  });

  test('features 1..128 a segment, static 0..128', () => {
    const named = (count: number, value: object) => Object.fromEntries(times(count, (index) => [`f${index}`, value]));
    const features = (count: number) => frame(replace('/history/features', named(count, series(1))));
    expect([features(1), features(128), features(0), features(129)]).toEqual([
      'ok',
      'ok',
      '/history/features length',
      '/history/features length',
    ]);
    const still = { value_type: 'string', value: null, quality: 'missing' };
    const statics = (count: number) => frame(replace('/static_features', named(count, still)));
    expect([statics(0), statics(128), statics(129)]).toEqual(['ok', 'ok', '/static_features length']);
  });

  test('provenance 1..512, warnings 0..64, points 1..4096', () => {
    const provenance = (count: number) =>
      frame(
        replace(
          '/provenance',
          times(count, () => loadRequest.frame.provenance[0]),
        ),
      );
    expect([provenance(1), provenance(512), provenance(0), provenance(513)]).toEqual([
      'ok',
      'ok',
      '/provenance length',
      '/provenance length',
    ]);
    const warnings = (count: number) =>
      result(
        replace(
          '/warnings',
          times(count, (index) => `W${index}`),
        ),
      );
    expect([warnings(0), warnings(64), warnings(65)]).toEqual(['ok', 'ok', '/warnings length']);
    const points = (count: number) =>
      result(
        replace(
          '/output/points',
          times(count, () => loadResult.output.points[0]),
        ),
      );
    expect([points(1), points(4096), points(0), points(4097)]).toEqual([
      'ok',
      'ok',
      '/output/points length',
      '/output/points length',
    ]);
  });

  test('details: an object of 16384 bytes of JSON', () => {
    const details = (value: unknown) => result({ op: 'add', path: '/details', value });
    // {"note":"…"} is 11 bytes around its text, and ä is two.
    expect(details({ note: 'x'.repeat(16_384 - 11) })).toBe('ok');
    expect(details({ note: 'x'.repeat(16_384 - 10) })).toBe('/details length');
    expect(details({ note: 'ä'.repeat(8192) })).toBe('/details length');
    expect([details({}), details([]), details('text'), details(null)]).toEqual([
      'ok',
      '/details type',
      '/details type',
      '/details type',
    ]);
  });

  test('cadence 1..86400, horizon 1..4096, quantiles 1..99', () => {
    const cadence = (seconds: number) => frame(replace('/cadence_seconds', seconds));
    expect([cadence(1), cadence(86_400), cadence(0), cadence(86_401)]).toEqual([
      'ok',
      'ok',
      '/cadence_seconds bounds',
      '/cadence_seconds bounds',
    ]);
    const options = (changes: object) =>
      told(decodeForecastOptions({ kind: 'forecast', horizon_steps: 1, ...changes }));
    expect([options({ horizon_steps: 4096 }), options({ horizon_steps: 4097 })]).toEqual([
      'ok',
      '/horizon_steps bounds',
    ]);
    const quantiles = (count: number) => options({ quantiles: times(count, (index) => (index + 1) / (count + 1)) });
    expect([quantiles(1), quantiles(99), quantiles(0), quantiles(100)]).toEqual([
      'ok',
      'ok',
      '/quantiles length',
      '/quantiles length',
    ]);
    expect([options({ quantiles: [0.5, 0.4] }), options({ quantiles: [0.5, 0.5] })]).toEqual(
      times(2, () => '/quantiles/1 increasing'),
    );
  });
});

describe('messages', () => {
  const bytes = (text: string) => told(decodeMessage(new TextEncoder().encode(text)));

  test('one document with one meaning', () => {
    expect(bytes(' {"a":[1,null,"x"]} ')).toBe('ok');
    expect([bytes(''), bytes('{'), bytes('NaN'), bytes('01'), bytes('{}{}'), bytes('\ufeff{}')]).toEqual(
      times(6, () => ' json'),
    );
    expect([bytes('{"a":1,"a":1}'), bytes('{"a":1,"\\u0061":1}'), bytes('[{"b":{"c":1,"c":2}}]')]).toEqual(
      times(3, () => ' duplicate_member'),
    );
    expect([bytes('{"__proto__":1}'), bytes('{"__pr\\u006fto__":1}')]).toEqual(times(2, () => ' proto_member'));
    expect([bytes('"\\ud800"'), bytes('["\\udc00x"]'), bytes('{"\\ud800":1}')]).toEqual(
      times(3, () => ' lone_surrogate'),
    );
    expect(bytes('"\\ud83d\\ude00"')).toBe('ok');
    expect([bytes('['.repeat(100) + ']'.repeat(100)), bytes('['.repeat(101) + ']'.repeat(101))]).toEqual([
      'ok',
      ' depth',
    ]);
    expect(told(decodeMessage(Buffer.from([0x22, 0xc3, 0x28, 0x22])))).toBe(' utf8');
  });

  test('any bytes get an answer', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (some) => typeof decodeMessage(some).ok === 'boolean'));
    fc.assert(
      fc.property(
        fc.json(),
        (text) => decodeMessage(new TextEncoder().encode(text)).ok || /__proto__|\\u[dD]/.test(text),
      ),
    );
  });

  test('[processor §1] the media type: version=1, a UTF-8 charset at most, nothing else', () => {
    const base = 'application/vnd.svc.data-processing+json';
    for (const type of [
      `${base};version=1`,
      `${base}; version=1`,
      `${base.toUpperCase()};VERSION=1`,
      `${base};version="1"`,
      `${base};version=1;charset=utf-8`,
      `${base}; charset="UTF-8"; version=1`,
    ])
      expect([type, isProcessorMediaType(type)]).toEqual([type, true]);
    for (const type of [
      undefined,
      '',
      base,
      `${base};version=2`,
      `${base};version=1;version=1`,
      `${base};version=1;q=1`,
      `${base};version=1;charset=latin1`,
      'application/json;version=1',
      `x${base};version=1`,
      `${base};version=10`,
      `${base};version=1, text/html`,
    ])
      expect([type, isProcessorMediaType(type)]).toEqual([type, false]);
    expect([undefined, '', 'identity', 'Identity'].every(isPlainEncoding)).toBe(true);
    expect(['gzip', 'identity, gzip', 'br'].some(isPlainEncoding)).toBe(false);
  });
});

describe('the frame is decoded in parts, and is the whole schema', () => {
  const whole = Compile(processingFrameSchema);
  const places = [...pointers(loadRequest.frame, '')];
  const values = [
    null,
    0,
    -1,
    1.5,
    1e21,
    '',
    'x',
    'number',
    'string',
    true,
    [],
    {},
    [1],
    { a: 1 },
    '2026-07-11T12:00:00Z',
    '2026-02-30T12:00:00Z',
  ];
  const changes = fc.array(
    fc.record({
      path: fc.constantFrom(...places),
      op: fc.constantFrom('replace', 'remove', 'add'),
      value: fc.constantFrom(...values),
    }),
    { minLength: 1, maxLength: 2 },
  );

  test('random changes: the decoders accept exactly what the schema accepts, except for invalid dates', () => {
    let refused = 0;
    fc.assert(
      fc.property(changes, (operations) => {
        let changed: unknown = loadRequest.frame;
        for (const { path, op, value } of operations) {
          try {
            changed = patched(changed, [op === 'add' ? add(`${path}/extra`, value) : { op, path, value }]);
          } catch {
            return;
          }
        }
        const byParts = decodeFrame(changed);
        const real = !JSON.stringify(changed).includes('2026-02-30');
        if (!byParts.ok) refused++;
        expect(byParts.ok).toBe(
          whole.Check(changed) && (real || !timesOf(changed).some((text) => parseTimestamp(text) === null)),
        );
      }),
      { numRuns: 2000 },
    );
    expect(refused).toBeGreaterThan(500);
  });

  test('the fixture is one', () => {
    expect(frame()).toBe('ok');
    expect(Compile(requestEnvelopeSchema).Check(loadRequest)).toBe(true);
  });
});

/** JSON Pointers of everything in `value`. */
function* pointers(value: unknown, path: string): Generator<string> {
  if (path !== '') yield path;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* pointers(member, `${path}/${name}`);
}

/** The values of a valid frame that are times. */
function timesOf(value: unknown): string[] {
  const found: string[] = [];
  JSON.stringify(value, (name, member: unknown) => {
    const timed = ['as_of', 'input_watermark', 'watermark', 'issued_at'].includes(name) || /^\d+$/.test(name);
    if (timed && typeof member === 'string' && /^\d{4}-/.test(member)) found.push(member);
    return member;
  });
  return found;
}
