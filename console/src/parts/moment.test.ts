import { expect, test } from 'vitest';
import { agoInWords, inWords } from './moment.tsx';

test('a past event is never shown as future, whatever the two clocks say', () => {
  const nowMs = Date.parse('2026-03-01T12:00:00Z');
  expect(agoInWords(nowMs + 900, nowMs)).toBe('just now');
  expect(agoInWords(nowMs + 60_000, nowMs)).toBe('just now');
  expect(agoInWords(nowMs - 12_000, nowMs)).toBe('12 s ago');
  expect(inWords(nowMs + 60_000, nowMs)).toBe('in 60 s');
});
