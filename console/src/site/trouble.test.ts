import { expect, test } from 'vitest';
import { troubledPoints } from './trouble.ts';

type Kind = 'measurement' | 'action';
const channels = [
  { channel: 'meter', driver: 'mqtt' },
  { channel: 'derived', driver: 'virtual' },
] as const;
const written = { value: 1, written: 1, by: { kind: 'rule', id: '1' } };
const point = (channel: string, quality: 'good' | 'missing' | 'bad', failed = false, kind = 'measurement' as Kind) => ({
  point_type: kind,
  channel,
  quality,
  observed_at: '2026-01-01T00:09:59.999Z',
  last_command: null,
  last_error: failed ? { code: 'offline', message: 'no answer', at: '2026-01-01T00:00:00.000Z' } : null,
});

test('a point that is not good is listed, unless it waits for its first write', () => {
  const unread = point('meter', 'missing');
  const unwritten = point('derived', 'missing');
  const [bad, failed, good] = [point('derived', 'bad'), point('meter', 'good', true), point('meter', 'good')];
  const uncommanded = point('meter', 'missing', false, 'action');
  const refused = point('meter', 'missing', true, 'action');
  const all = [unread, unwritten, uncommanded, bad, failed, good, refused];
  expect(troubledPoints(all, channels)).toEqual([unread, bad, failed, refused]);
  // Which channels are virtual is not known yet.
  expect(troubledPoints(all, undefined)).toEqual([bad, failed, refused]);
});

test('an error of a good point is over after ten minutes', () => {
  const failed = point('meter', 'good', true);
  expect(troubledPoints([failed], channels)).toEqual([failed]);
  const over = { ...failed, observed_at: '2026-01-01T00:10:00.000Z' };
  expect(troubledPoints([over], channels)).toEqual([]);
  const ignored = {
    ...failed,
    last_error: { ...failed.last_error, code: 'ignored', message: '', at: failed.observed_at },
  };
  expect(troubledPoints([ignored], channels)).toEqual([]);
  const waiting = { ...ignored, quality: 'bad' as const };
  expect(troubledPoints([waiting], channels)).toEqual([waiting]);
  const bad = { ...over, quality: 'bad' as const };
  const unread = { ...failed, observed_at: null };
  expect(troubledPoints([bad, unread], channels)).toEqual([bad, unread]);
  // A point that cannot be read is judged by its next command.
  const command = (result: 'written' | 'failed') => ({ ...written, result, at: '2026-01-01T00:10:00.000Z' });
  const again = { ...unread, last_command: command('failed') };
  expect(troubledPoints([{ ...unread, last_command: command('written') }, again], channels)).toEqual([again]);
});
