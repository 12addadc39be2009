/** [audit §1] Resources can be recorded under any name. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRecordable } from './event.ts';
import { recordedId } from './resource-id.ts';

const kind = 'automation-parameter';
const recordable = (resourceId: string): boolean =>
  isRecordable({
    subject: { kind: 'user', subjectId: 'ada' },
    action: 'automation.parameter.update',
    resource: { kind, resourceId },
    outcome: 'accepted',
    risk: 'low',
    confirmation: 'explicit',
    correlationId: 'correlation',
  });

describe('[audit §1] the id of a resource in records', () => {
  test('is the id itself where it fits the grammar, of 8 to 128 characters', () => {
    const fits = 'a'.repeat(128 - kind.length - 1);
    for (const name of ['soc_lower', 'a:b.c-d', fits])
      expect(recordedId(kind, `${kind}:${name}`)).toBe(`${kind}:${name}`);
    expect(recordedId(kind, `${kind}:${fits}b`)).toMatch(/^automation-parameter:sha256:[0-9a-f]{32}$/);
    expect(recordedId(kind, 'short')).toMatch(/:sha256:/);
  });

  test('of any other name is a digest: recordable, the same each time, another one for another name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (one, other) => {
        const id = recordedId(kind, `${kind}:${one}`);
        expect(recordable(id)).toBe(true);
        expect(recordedId(kind, `${kind}:${one}`)).toBe(id);
        expect(id === recordedId(kind, `${kind}:${other}`)).toBe(one === other);
      }),
    );
  });
});
