import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readRuleFile, ruleFileText } from './rule-file.ts';

const demo = join(import.meta.dirname, '..', '..', '..', 'config', 'demo', 'rules');

describe('[rules §9] a file of rules', () => {
  test('the demo’s files are read, and written as they say', () => {
    const files = readdirSync(demo);
    expect(files.length).toBeGreaterThan(3);
    for (const name of files) {
      const text = readFileSync(join(demo, name), 'utf8');
      expect(JSON.parse(ruleFileText(readRuleFile(text)))).toEqual(JSON.parse(text));
    }
  });

  test.each([
    ['no JSON', '{', /not valid JSON/],
    ['a member twice', '{"schema":"svc.rules.v1","schema":"x","rules":[]}', /twice/],
    ['another schema', '{"schema":"svc.rules.v2","rules":[]}', /does not contain rules/],
    ['a rule without a flow', '{"schema":"svc.rules.v1","rules":[{"name":"A"}]}', /“A” has no flow/],
    [
      'a priority in words',
      '{"schema":"svc.rules.v1","rules":[{"name":"A","priority":"high","flow_json":{}}]}',
      /Rule 1/,
    ],
  ])('%s is refused in words', (_what, text, why) => {
    expect(() => readRuleFile(text)).toThrow(why);
  });
});
