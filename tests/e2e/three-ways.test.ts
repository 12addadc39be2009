/** Every mutation by HTTP, command line and tool protocol does the same to the stored rules and leaves the same audit events. */
import { expect, test } from 'vitest';
import { byCommand, byHttp, changes, steps, toolDoor, trace } from './doors.ts';
import { afterThisTest } from './per-test.ts';
import { testFolders, virtualSite } from './running-service.ts';

test('[platform §3] every mutation by HTTP, by the command line and by the tool protocol leaves the same rules and the same audit events', async () => {
  const still = async () => undefined;
  const http = await trace(async () => ({ door: byHttp, close: still }));
  const command = await trace(async () => ({ door: byCommand, close: still }));
  const tools = await trace(toolDoor);
  expect(http.rules.map(({ id, name, enabled, revision }) => [id, name, enabled, revision])).toEqual([
    [1, 'Fill', 0, 7],
    [2, 'Second', 0, 4],
    [3, 'Third', 0, 1],
    [4, 'Fill two', 0, 1],
    [5, 'Lamp', 0, 1],
    [6, 'Fill three', 0, 2],
  ]);
  expect(
    http.revisions.map(({ rule_id, revision, action, reason }) => [rule_id, revision, action, reason]),
  ).toContainEqual([2, 4, 'automation.rule.restore', 'needed after all']);
  expect(http.events).toHaveLength(57);
  expect(http.events.at(-1)).toMatchObject({ action: 'automation.point.expire', outcome: 'succeeded' });
  expect(command).toEqual(http);
  expect(tools).toEqual(http);
  // No mutation is left out.
  const mutations = Object.entries(changes).flatMap(([name, { kind }]) => (kind === 'command' ? [name] : []));
  const of = testFolders(virtualSite);
  afterThisTest(of.remove);
  expect(new Set(steps(of).map(({ operation }) => operation as string))).toEqual(new Set(mutations));
}, 180_000);
