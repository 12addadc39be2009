import { expect, test } from 'vitest';
import { consoleCatalogue } from '../editor/site-catalogue.ts';
import type { SiteView } from '../server/queries.ts';
import { runDifference, testDifference } from './difference-words.ts';

const setpoint = { id: 1, name: 'power_setpoint', kind: 'action', unit: 'kW', writable: true };
const site = { timezone: 'UTC', parameters: [], instances: [{ id: 4, name: 'battery', points: [setpoint] }] };
const catalogue = consoleCatalogue(site as unknown as SiteView);
const nodeName = (id: string): string => (id === 'decide' ? 'Decision' : id);
const write = (instance: number, value: number | null, success = true) => ({
  node_id: 'store',
  instance,
  point: 1,
  value,
  success,
});

test('only the writes that differ are listed, with the names of their points', () => {
  const [same, before, after] = [write(5, 0), write(4, -61.2), write(4, -61.4)];
  const between = (recorded: unknown, computed: unknown) =>
    runDifference({ field: 'writes', recorded, computed }, catalogue, nodeName);
  const name = 'battery · power_setpoint (kW)';
  expect(between([same, before], [same, after])).toEqual(['writes', `${name} = -61.2`, `${name} = -61.4`]);
  expect(between([same], [same, after])).toEqual(['writes', 'nothing', `${name} = -61.4`]);
  expect(between([write(4, 5, false)], [write(4, 5)])).toEqual(['writes', `${name} = 5 (not taken)`, `${name} = 5`]);
  // A point that the site no longer has.
  expect(between([write(9, null)], [])).toEqual(['writes', '9:action:1 = –', 'nothing']);
});

test('outcomes, runs that only one side had, and paths', () => {
  const told = (field: string, recorded: unknown, computed: unknown) =>
    runDifference({ field, recorded, computed }, catalogue, nodeName);
  expect(told('outcome', 'acted', 'skipped')).toEqual(['outcome', 'Acted', 'Skipped']);
  expect(told('run', 'no_action', null)).toEqual(['run', 'Nothing to do', 'did not run']);
  expect(told('path', ['decide', 'a'], ['decide', 'b'])).toEqual(['path', 'Decision → a', 'Decision → b']);
});

test('expected and actual values of a test', () => {
  const told = (field: string, expected: unknown, actual: unknown) =>
    testDifference({ field, expected, actual }, catalogue, nodeName);
  expect(told('/then/outcome', 'acted', 'no_action')).toEqual(['Outcome', 'Acted', 'Nothing to do']);
  expect(told('/then/writes (4:1)', 5, null)).toEqual(['battery · power_setpoint (kW)', '5', 'not written']);
  expect(told('/then/output (decide)', 'full', null)).toEqual(['Last decision (Decision)', 'full', 'nothing']);
  expect(told('/then/later', 1, 2)).toEqual(['/then/later', '1', '2']);
});
