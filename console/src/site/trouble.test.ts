import { expect, test } from 'vitest';
import { troubledPoints } from './trouble.ts';

type Kind = 'measurement' | 'action';
const channels = [
  { channel: 'meter', driver: 'mqtt' },
  { channel: 'derived', driver: 'virtual' },
] as const;
const point = (channel: string, quality: 'good' | 'missing' | 'bad', failed = false, kind = 'measurement' as Kind) => ({
  point_type: kind,
  channel,
  quality,
  last_error: failed ? { code: 'offline', message: 'no answer', at: '2026-01-01T00:00:00.000Z' } : null,
});

test('a point that is not good is listed, but none that only a rule or a command gives a value', () => {
  const unread = point('meter', 'missing');
  const unwritten = point('derived', 'missing');
  const [bad, failed, good] = [point('derived', 'bad'), point('meter', 'good', true), point('meter', 'good')];
  const uncommanded = point('meter', 'missing', false, 'action');
  const refused = point('meter', 'missing', true, 'action');
  const all = [unread, unwritten, uncommanded, bad, failed, good, refused];
  expect(troubledPoints(all, channels)).toEqual([unread, bad, failed, refused]);
  // Which channel is virtual is not known yet.
  expect(troubledPoints(all, undefined)).toEqual([bad, failed, refused]);
});
