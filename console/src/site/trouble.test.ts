import { expect, test } from 'vitest';
import { troubledPoints } from './trouble.ts';

const channels = [
  { channel: 'meter', driver: 'mqtt' },
  { channel: 'derived', driver: 'virtual' },
] as const;
const point = (channel: string, quality: 'good' | 'missing' | 'bad', failed = false) => ({
  channel,
  quality,
  last_error: failed ? { code: 'offline', message: 'no answer', at: '2026-01-01T00:00:00.000Z' } : null,
});

test('a point that is not good is listed, but no virtual point that no rule has written', () => {
  const unread = point('meter', 'missing');
  const unwritten = point('derived', 'missing');
  const [bad, failed, good] = [point('derived', 'bad'), point('meter', 'good', true), point('meter', 'good')];
  const all = [unread, unwritten, bad, failed, good];
  expect(troubledPoints(all, channels)).toEqual([unread, bad, failed]);
  // Which channel is virtual is not known yet.
  expect(troubledPoints(all, undefined)).toEqual([bad, failed]);
});
