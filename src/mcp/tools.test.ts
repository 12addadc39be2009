/** Which operations become tools, and their arguments [platform §8]. */
import { describe, expect, test } from 'vitest';
import { automation } from '../api/automation.ts';
import { operations } from '../api/operations.ts';
import { dataProcessing } from '../api/processing-capabilities.ts';
import { toolName, toolsOf } from './tools.ts';

const tools = toolsOf(operations, true);
const named = (name: string) => tools.find((tool) => tool.name === name);

describe('[platform §8] tools', () => {
  test('[platform §8] data processing has no tools in version 1', () => {
    expect(toolsOf(Object.values(dataProcessing), true)).toEqual([]);
    expect(operations.some(({ name }) => name.startsWith('data_processing.'))).toBe(true);
  });

  test('the other omitted operations are about identity or answer text', () => {
    const left = operations.filter((capability) => !tools.some((tool) => tool.capability === capability));
    expect(left.map(({ name }) => name).filter((name) => !name.startsWith('data_processing.'))).toEqual([
      'platform.metrics',
      ...operations.flatMap(({ name }) => (name.startsWith('identity.') ? [name] : [])),
      'audit.event.stream',
      'audit.checkpoint.read',
      'audit.event.proof',
    ]);
  });

  test('reading tools are the same with and without --allow-write; every other one needs confirmed: true', () => {
    const reading = toolsOf(operations, false);
    expect(reading.every(({ capability }) => capability.kind === 'query')).toBe(true);
    const writing = tools.filter((tool) => !reading.some(({ name }) => name === tool.name));
    for (const { inputSchema, annotations } of writing) {
      expect(inputSchema.required).toContain('confirmed');
      expect(inputSchema.properties['confirmed']).toMatchObject({ const: true });
      expect(annotations.readOnlyHint).toBe(false);
    }
    expect(writing).toHaveLength(24);
  });

  test('arguments are path, query and body side by side, each once; numbers may be numbers', () => {
    const update = named('automation_rule_update')?.inputSchema;
    expect(Object.keys(update?.properties ?? {})).toEqual([
      'id',
      'name',
      'key',
      'description',
      'priority',
      'cooldown_ms',
      'trigger_config',
      'flow_json',
      'tests',
      'expected_revision',
      'reason',
      'confirmed',
    ]);
    expect([update?.required, update?.additionalProperties]).toEqual([['id', 'confirmed'], false]);
    expect(update?.properties['id']).toMatchObject({ anyOf: [{ type: 'string' }, { type: 'integer' }] });
    const history = named('automation_rule_history')?.inputSchema.properties;
    expect(history?.['limit']).toMatchObject({ anyOf: [{ type: 'string' }, { type: 'integer', maximum: 100 }] });
    expect(history?.['from']).not.toHaveProperty('anyOf');
    expect(named('automation_rule_delete')?.inputSchema.required).toEqual(['id', 'confirmed']);
    expect(named('automation_scheduler_reload')?.inputSchema.required).toEqual(['confirmed']);
    for (const { method, path, params, query, body, name } of Object.values(automation)) {
      const names = [params, query, ...('type' in Object(body) ? [body] : [])].flatMap((schema) =>
        Object.keys(Object(schema).properties as object),
      );
      expect(new Set(names).size, `${method} ${path} ${name}`).toBe(names.length);
    }
  });

  test('names are such that every assistant takes them, and differ', () => {
    const names = operations.map(toolName);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });
});
