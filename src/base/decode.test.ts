/** Decoding at the boundary (STYLE.md): exact types, all issues at once, no coercion. */
import Type from 'typebox';
import { describe, expect, test } from 'vitest';
import { decodeOrRefuse, decoder } from './decode.ts';
import { Fault, faultKinds } from './fault.ts';

const schema = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    size: Type.Integer({ minimum: 1, maximum: 9 }),
    kind: Type.Optional(Type.Union([Type.Literal('small'), Type.Literal('large')])),
  },
  { additionalProperties: false },
);

describe('decode', () => {
  const decode = decoder(schema);

  test('a value that fits is handed on as it is', () => {
    const value = { name: 'a', size: 9 };
    const decoded = decode(value);
    expect(decoded).toEqual({ ok: true, value });
    expect(decoded.ok && decoded.value).toBe(value);
  });

  test('nothing is coerced, defaulted or dropped', () => {
    for (const value of [{ name: 'a', size: '3' }, { name: 'a', size: 3, more: 1 }, { name: 'a' }, null, [], 'x'])
      expect(decode(value).ok).toBe(false);
  });

  test('all issues at once, each with its path', () => {
    const decoded = decode({ name: '', size: 10, kind: 'huge', more: 1 });
    expect(decoded.ok ? [] : decoded.issues.map((issue) => issue.path).toSorted()).toEqual([
      '/kind',
      '/more',
      '/name',
      '/size',
    ]);
  });

  test('a refusal is a Fault that names the first field and lists all', () => {
    let caught: unknown;
    try {
      decodeOrRefuse(schema, 'body')({ name: 'a', size: 3, more: 1 });
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(Fault);
    expect(caught).toMatchObject({
      code: 'invalid-input',
      message: 'body /more: is not a known field',
      details: { issues: [{ path: '/more', message: 'is not a known field' }] },
    });
  });
});

test('[platform §2.1] codes are kebab-case, and only a passing state is worth a retry', () => {
  for (const [code, { status, retryable }] of Object.entries(faultKinds)) {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(retryable).toBe([408, 429, 503, 504].includes(status));
  }
});

describe('of a choice between shapes only the one that was meant is spoken of', () => {
  const strict = { additionalProperties: false };
  const choice = decoder(
    Type.Object({
      from: Type.Optional(
        Type.Union([
          Type.Object({ kind: Type.Literal('file'), path: Type.String() }, strict),
          Type.Object({ kind: Type.Literal('store'), id: Type.Integer(), more: Type.Optional(Type.Integer()) }, strict),
        ]),
      ),
      policy: Type.Optional(
        Type.Union([Type.Enum(['reject', 'allow']), Type.Object({ method: Type.Enum(['linear', 'hold']) }, strict)]),
      ),
      list: Type.Optional(Type.Array(Type.Union([Type.Object({ a: Type.Integer() }, strict), Type.Null()]))),
      text: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Null()])),
      proof: Type.Optional(
        Type.Union([
          Type.Object({ code: Type.String() }, strict),
          Type.Object({ name: Type.String(), password: Type.String() }, strict),
        ]),
      ),
    }),
  );

  test.each([
    [{ from: { kind: 'file', path: 3 } }, '/from/path', 'must be a string'],
    [{ from: { kind: 'store', id: 1, path: 'x' } }, '/from/path', 'is not a known field'],
    [{ from: { kind: 'store' } }, '/from', 'must have "id"'],
    [{ from: { kind: 'folder', path: 'x' } }, '/from/kind', 'must be one of "file", "store"'],
    [{ from: { path: 'x' } }, '/from/kind', 'must be one of "file", "store"'],
    [{ from: 'file' }, '/from', 'must be an object'],
    [{ policy: 'maybe' }, '/policy', 'must be one of "reject", "allow", or an object'],
    [{ policy: { method: 'maybe' } }, '/policy/method', 'must be one of "linear", "hold"'],
    [{ list: [{ a: 1 }, null, { a: 'x' }] }, '/list/2/a', 'must be a whole number'],
    [{ list: [{ a: 1 }, null, 7] }, '/list/2', 'must be one of null, or an object'],
    [{ text: '' }, '/text', 'must have at least 1 character'],
    [{ text: 3 }, '/text', 'must be a string or null'],
    [{ proof: { code: 3 } }, '/proof/code', 'must be a string'],
    [{ proof: { code: 'x', confirmed: true } }, '/proof/confirmed', 'is not a known field'],
    [{ proof: { name: 'x' } }, '/proof', 'must have "password"'],
    [{ proof: { toString: 1 } }, '/proof', 'must have "code", or "name" and "password"'],
    [{ proof: {} }, '/proof', 'must have "code", or "name" and "password"'],
    [{ proof: { code: 'x', password: 'y' } }, '/proof', 'must have "code", or "name" and "password"'],
  ])('%j: %s %s', (value, path, message) => {
    const decoded = choice(value);
    expect(decoded.ok ? [] : decoded.issues).toEqual([{ path, message }]);
  });

  test('faults of two choices, and of many fields, are all named', () => {
    const decoded = choice({ from: { kind: 'file', path: 3, a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }, policy: 'maybe' });
    expect(decoded.ok ? [] : decoded.issues.map((issue) => issue.path).toSorted()).toEqual([
      '/from/a',
      '/from/b',
      '/from/c',
      '/from/d',
      '/from/e',
      '/from/f',
      '/from/path',
      '/policy',
    ]);
  });
});

test.each([
  [Type.String(), 1, 'must be a string'],
  [Type.Number(), 'x', 'must be a number'],
  [Type.Integer(), 1.5, 'must be a whole number'],
  [Type.Boolean(), 'x', 'must be true or false'],
  [Type.Array(Type.Null()), 1, 'must be a list'],
  [Type.Array(Type.Null()), [1], 'must be null'],
  [Type.Object({}), 1, 'must be an object'],
  [Type.Union([Type.String(), Type.Integer()]), true, 'must be a string or a whole number'],
  [Type.Union([Type.Integer({ minimum: 1 }), Type.String()]), 0, 'must be at least 1'],
  [Type.Union([Type.Undefined(), Type.Object({})]), [], 'must be an object'],
  [Type.Number({ maximum: 1 }), 2, 'must be at most 1'],
  [Type.Number({ exclusiveMinimum: 0 }), 0, 'must be more than 0'],
  [Type.Number({ exclusiveMaximum: 1 }), 1, 'must be less than 1'],
  [Type.Number({ multipleOf: 5 }), 7, 'must be a multiple of 5'],
  [Type.String({ minLength: 2 }), 'x', 'must have at least 2 characters'],
  [Type.String({ maxLength: 1 }), 'xy', 'must have at most 1 character'],
  [Type.Array(Type.Integer(), { minItems: 1 }), [], 'must have at least 1 entry'],
  [Type.Array(Type.Integer(), { maxItems: 1 }), [1, 2], 'must have at most 1 entry'],
  [Type.Array(Type.Integer(), { uniqueItems: true }), [1, 1], 'must not contain duplicates'],
  [Type.Record(Type.String(), Type.Integer(), { minProperties: 1 }), {}, 'must have at least 1 member'],
  [
    Type.Record(Type.String(), Type.Integer(), { maxProperties: 2 }),
    { a: 1, b: 2, c: 3 },
    'must have at most 2 members',
  ],
  [Type.String({ format: 'date-time' }), 'noon', 'must be a time with its offset, such as 2026-07-11T06:00:00Z'],
])('%j of %j %s', (member, value, message) => {
  const decoded = decoder(Type.Object({ member }))({ member: value });
  expect(decoded.ok ? null : decoded.issues[0]?.message).toBe(message);
});

test('expectations are stated in words: a described pattern, a choice', () => {
  const words = decoder(
    Type.Object({
      size: Type.Optional(Type.String({ pattern: '^[1-9]$', description: 'a digit from 1 to 9' })),
      kind: Type.Optional(Type.Union([Type.Literal('a'), Type.Literal('b'), Type.Null()])),
      code: Type.Optional(Type.String({ pattern: '^x$' })),
    }),
  );
  const decoded = words({ size: '0', kind: 'c', code: 'y' });
  expect(decoded.ok ? [] : decoded.issues).toEqual([
    { path: '/size', message: 'must be a digit from 1 to 9' },
    { path: '/kind', message: 'must be one of "a", "b", null' },
    { path: '/code', message: 'must match pattern "^x$"' },
  ]);
});
