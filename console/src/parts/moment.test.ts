import { expect, test } from 'vitest';
import { agoInWords, inWords, lengthInWords } from './moment.tsx';

test('a past event is never shown as future, whatever the two clocks say', () => {
  const nowMs = Date.parse('2026-03-01T12:00:00Z');
  expect(agoInWords(nowMs + 900, nowMs)).toBe('just now');
  expect(agoInWords(nowMs + 60_000, nowMs)).toBe('just now');
  expect(agoInWords(nowMs - 12_000, nowMs)).toBe('12 s ago');
  expect(inWords(nowMs + 60_000, nowMs)).toBe('in 60 s');
});

test('a length is in the unit that fits, for whichever of two clocks is behind', () => {
  const lengths = [5000, -89_000, 600_000, -3 * 3_600_000, 2 * 86_400_000].map(lengthInWords);
  expect(lengths).toEqual(['5 seconds', '89 seconds', '10 minutes', '3 hours', '2 days']);
});
