/** A device that answers and refuses [points §5]. */
import { expect, test } from 'vitest';
import { watchRefusals } from './refusals.ts';

test('[points §5] refusing begins when every read was refused for refusing_after_ms, and ends with the first that was not', () => {
  const refusals = watchRefusals(1000);
  expect(refusals.answered('read', true, 0)).toBe(false);
  expect(refusals.answered('read', true, 999)).toBe(false);
  expect(refusals.answered('read', true, 1000)).toBe(true);
  expect(refusals.answered('read', false, 1100)).toBe(false);
  expect(refusals.answered('read', true, 1200)).toBe(false);
});

test('[points §5] commands are judged apart from reads: a device that is read and refuses every command refuses', () => {
  const refusals = watchRefusals(1000);
  refusals.answered('write', true, 0);
  expect(refusals.answered('read', false, 500)).toBe(false);
  expect(refusals.answered('write', true, 1000)).toBe(true);
  expect(refusals.answered('read', false, 1100)).toBe(true);
  expect(refusals.answered('write', false, 1200)).toBe(false);
});
