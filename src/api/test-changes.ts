/** The setting `tests` in a difference of two rules, for people: tests by their names. */
import { isObject } from '../base/json.ts';

export interface TestChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** Tests that differ; a rule without tests has null or no list. */
export function testChanges(before: unknown, after: unknown): TestChanges {
  const [old, now] = [testsByName(before), testsByName(after)];
  const names = [...now.keys()];
  return {
    added: names.filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    changed: names.filter((name) => old.has(name) && old.get(name) !== now.get(name)),
  };
}

/** Each as a text. */
function testsByName(tests: unknown): ReadonlyMap<string, string> {
  const listed: readonly unknown[] = Array.isArray(tests) ? tests : [];
  return new Map(listed.filter(isObject).map((each) => [String(each['name']), JSON.stringify(each)]));
}
