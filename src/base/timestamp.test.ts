/** Timestamps: what is read, what is refused, one spelling out. */
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
