/** Decoding at the boundary (house, "Rules of style"): exact types, all issues at once, nothing coerced. */
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

test('decisions §1 codes are kebab-case, and only a passing state is worth a retry', () => {
  for (const [code, { status, retryable }] of Object.entries(faultKinds)) {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(retryable).toBe([408, 429, 503, 504].includes(status));
  }
});

test('what must be is said in words: a described pattern, a choice', () => {
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
