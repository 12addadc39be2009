import { expect, test } from 'vitest';
import { longestRequestMs } from './longest-request.ts';

const route = (deadline_ms: number) => ({ deadline_ms, audit_finalization_timeout_ms: 1000 });

test('[platform §3] an accepted call stays open for 120 s, or for as long as its route or the engine may take, if that is longer', () => {
  const engineCallMs = 10_000;
  expect(longestRequestMs({ engineCallMs, routes: [] })).toBe(120_000);
  expect(longestRequestMs({ engineCallMs, routes: [route(30_000), route(89_000)] })).toBe(120_000);
  expect(longestRequestMs({ engineCallMs, routes: [route(89_001), route(1)] })).toBe(120_001);
  expect(longestRequestMs({ engineCallMs, routes: [route(600_000)] })).toBe(631_000);
  // Enabling a rule waits for the engine twice: to load the rule, and to report the other writers of its points.
  expect(longestRequestMs({ engineCallMs: 45_000, routes: [] })).toBe(120_000);
  expect(longestRequestMs({ engineCallMs: 45_001, routes: [] })).toBe(120_002);
  expect(longestRequestMs({ engineCallMs: 600_000, routes: [route(1)] })).toBe(1_230_000);
});
