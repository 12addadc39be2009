/** Values from outside: copied once, whatever they do while they are read (application contracts, "untrusted"). */
import fc from 'fast-check';
import Type from 'typebox';
import { describe, expect, test } from 'vitest';
import { hostileVariants } from '../testing/hostile-values.ts';
import { instant, instantMs, isCanonicalInstant } from './instant.ts';
import { platformLimits } from './limits.ts';
import { ownMembers, untrusted } from './untrusted.ts';

const decodeAnything = untrusted(Type.Unknown());
const nested = (levels: number): unknown => {
  let value: unknown = 0;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
};

describe('untrusted values', () => {
  test('contracts plain JSON values are returned equal and frozen', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        // A text that JSON carries as a member of prototypes is refused, and -0 is kept.
        fc.pre(!JSON.stringify(value).includes('__proto__'));
        const copy = decodeAnything(value);
        expect(copy).toEqual(value);
        if (typeof copy === 'object' && copy !== null) expect(Object.isFrozen(copy)).toBe(true);
      }),
    );
  });

  test('contracts anything at all ends as a copy or as null, never as an exception', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true }), (value) => {
        expect(() => decodeAnything(value)).not.toThrow();
      }),
    );
  });

  test('contracts a value that changes while it is read is decoded from one copy', () => {
    let reads = 0;
    const shifty = new Proxy(
      { kind: 'good' },
      {
        getOwnPropertyDescriptor: () => ({
          value: reads++ === 0 ? 'good' : 'evil',
          enumerable: true,
          configurable: true,
          writable: true,
        }),
      },
    );
    const decode = untrusted(Type.Object({ kind: Type.Literal('good') }, { additionalProperties: false }));
    expect(decode(shifty)).toEqual({ kind: 'good' });
    expect(reads).toBe(1);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1n, undefined, Symbol('x'), () => 1, new Date(0), new Map(), /x/])(
    'contracts %s is not data',
    (value) => {
      expect(decodeAnything(value)).toBeNull();
      expect(decodeAnything([value])).toBeNull();
      expect(decodeAnything({ value })).toBeNull();
    },
  );

  test('contracts 16 levels are read, 17 are not', () => {
    expect(decodeAnything(nested(platformLimits.value_depth_max))).not.toBeNull();
    expect(decodeAnything(nested(platformLimits.value_depth_max + 1))).toBeNull();
  });

  test('contracts 200 000 nodes are read, one more is refused, even if only the length claims it', () => {
    const nodes = (count: number) => decodeAnything(Array.from({ length: count - 1 }, () => 0));
    expect(nodes(platformLimits.value_nodes_max)).not.toBeNull();
    expect(nodes(platformLimits.value_nodes_max + 1)).toBeNull();
    expect(decodeAnything(Object.assign([], { length: 2 ** 32 - 1 }))).toBeNull();
  });

  test('contracts for any value, only own members that are data are read', () => {
    expect(ownMembers({ a: 1, b: 2 }, ['a', 'c'])).toEqual({ a: 1 });
    expect(ownMembers(Object.create({ a: 1 }), ['a'])).toEqual({});
    expect(
      ownMembers(
        {
          get a() {
            return 1;
          },
        },
        ['a'],
      ),
    ).toEqual({});
    for (const value of [null, undefined, 'a', 1]) expect(ownMembers(value, ['a'])).toBeNull();
    for (const { value, what } of hostileVariants({ a: 1 })) expect(() => ownMembers(value, ['a']), what).not.toThrow();
  });
});

describe('instants', () => {
  test('contracts the canonical text of every millisecond is read back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31, 23, 59, 59, 999) }), (ms) => {
        expect(instantMs(instant(ms))).toBe(ms);
        expect(isCanonicalInstant(instant(ms))).toBe(true);
      }),
    );
  });

  test('contracts milliseconds may be left out on the way in, which is not canonical', () => {
    expect(instantMs('2026-01-01T00:00:00Z')).toBe(Date.UTC(2026, 0, 1));
    expect(isCanonicalInstant('2026-01-01T00:00:00Z')).toBe(false);
  });

  test.each([
    '2026-02-30T00:00:00.000Z',
    '2026-01-01T24:00:00.000Z',
    '2026-01-01T00:00:60.000Z',
    '2026-01-01T00:00:00.0Z',
    '2026-01-01T00:00:00.0000Z',
    '2026-01-01T00:00:00.000z',
    '2026-01-01 00:00:00.000Z',
    '2026-01-01T00:00:00.000',
    '2026-01-01T00:00:00.000+00:00',
    '+002026-01-01T00:00:00.000Z',
    '1969-12-31T23:59:59.999Z',
    '2026-01-01T00:00:00.000Z\n',
    '',
  ])('contracts %j is no instant', (text) => {
    expect(instantMs(text)).toBeNull();
  });
});
