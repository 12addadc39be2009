/** Timestamps: what is accepted, what is refused, one spelling on output. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatTimestamp, parseTimestamp, timeLabel } from './timestamp.ts';

describe('[data-processing §1.1] common value rules: times', () => {
  test.each([
    ['1970-01-01T00:00:00Z', 0],
    ['1970-01-01T00:00:00.5Z', 500],
    ['1970-01-01T00:00:00.05Z', 50],
    ['2024-02-29T23:59:59.999Z', Date.UTC(2024, 1, 29, 23, 59, 59, 999)],
    ['9999-12-31T23:59:59.999Z', Date.UTC(9999, 11, 31, 23, 59, 59, 999)],
  ])('%s is read', (text, ms) => expect(parseTimestamp(text)).toBe(ms));

  test.each([
    '1969-12-31T23:59:59Z',
    '2026-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-06-30T23:59:60Z',
    '2026-01-01T00:00:00.1234Z',
    '2026-01-01T00:00:00.Z',
    '2026-01-01T00:00:00+00:00',
    '2026-01-01T00:00:00z',
    '2026-01-01t00:00:00Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00Z',
    '+2026-01-01T00:00:00Z',
    '10000-01-01T00:00:00Z',
    ' 2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z\n',
    '1767225600',
    '',
  ])('%j is refused: local times and numeric epochs are never reinterpreted', (text) => {
    expect(parseTimestamp(text)).toBeNull();
  });

  test('any text reads as a pattern and the calendar of the engine read it', () => {
    const pattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,3}))?Z$/;
    const naive = (text: string): number | null => {
      if (!pattern.test(text)) return null;
      const ms = Date.parse(text);
      const isSame = !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, 19) === text.slice(0, 19);
      return isSame && ms >= 0 ? ms : null;
    };
    const number = (digits: number) => fc.nat(10 ** digits - 1).map((value) => String(value).padStart(digits, '0'));
    const fraction = fc.oneof(
      fc.constant(''),
      fc
        .integer({ min: 0, max: 4 })
        .chain((digits) => number(digits))
        .map((text) => `.${text}`),
    );
    const near = fc
      .tuple(
        fc.oneof(number(4), fc.constantFrom('1969', '1970', '2024', '2026')),
        number(2),
        number(2),
        number(2),
        number(2),
        number(2),
        fraction,
      )
      .map(
        ([year, month, day, hour, minute, second, rest]) =>
          `${year}-${month}-${day}T${hour}:${minute}:${second}${rest}Z`,
      );
    const plausible = fc
      .date({ min: new Date(0), max: new Date(Date.UTC(9999, 11, 31)), noInvalidDate: true })
      .map((date) => date.toISOString());
    const spoiled = fc
      .tuple(
        fc.oneof(near, plausible),
        fc.nat(30),
        fc.constantFrom('', ' ', '0', '9', '/', ':', 'z', 'Z', '\u0660', '.'),
        fc.nat(1),
      )
      .map(([text, at, mark, cut]) => text.slice(0, at) + mark + text.slice(at + cut));
    fc.assert(
      fc.property(fc.oneof(near, plausible, spoiled), (text) => {
        expect(parseTimestamp(text)).toBe(naive(text));
      }),
      { numRuns: 5000 },
    );
  });

  test('every instant has one spelling, which reads back; a zero fraction is left out', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31, 23, 59, 59, 999) }), (ms) => {
        const text = formatTimestamp(ms);
        expect(text).toBe(new Date(ms).toISOString().replace('.000Z', 'Z'));
        expect(parseTimestamp(text)).toBe(ms);
        expect(text.length).toBe(ms % 1000 === 0 ? 20 : 24);
      }),
    );
  });
});

describe('[rules §6.3] labels of events', () => {
  test('keep milliseconds, round, and stay within the years that RFC 3339 can spell', () => {
    expect(timeLabel(1_700_000_000_000.4)).toBe('2023-11-14T22:13:20.000Z');
    expect(timeLabel(253_402_300_799_999)).toBe('9999-12-31T23:59:59.999Z');
    expect(timeLabel(253_402_300_800_000)).toBe('9999-12-31T23:59:59.999Z');
    expect(timeLabel(Number.POSITIVE_INFINITY)).toBe('9999-12-31T23:59:59.999Z');
    expect([timeLabel(0), timeLabel(-1)]).toEqual(['1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z']);
  });
});
