/** The hashed text of an event is RFC 8785, whatever its members are [audit §6]. */
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sha256Hex } from '../../base/digest.ts';
import { type ChainedEvent, type ChainOwner, chainHash, chainStart, chainText } from './chain.ts';

const identifier = fc.stringMatching(/^[A-Za-z0-9._:-]{1,40}$/);
const named = fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }).filter((text) => text.isWellFormed());
const hash = fc.stringMatching(/^[0-9a-f]{64}$/);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
const owners: fc.Arbitrary<ChainOwner> = fc.record({
  log: fc.constantFrom('events' as const, 'access' as const),
  tenantId: named,
  projectId: named,
});
const events: fc.Arbitrary<ChainedEvent> = fc.record({
  sequence: fc.bigInt({ min: 1n, max: 2n ** 63n }).map(String),
  eventId: identifier,
  occurredAt: fc.constant('2026-01-01T00:00:00.000Z'),
  subjectKind: identifier,
  subjectId: named,
  action: identifier,
  resourceKind: identifier,
  resourceId: identifier,
  outcome: identifier,
  risk: identifier,
  confirmation: identifier,
  correlationId: identifier,
  traceId: maybe(hash),
  detailsDigest: maybe(hash),
  acceptedEventId: maybe(identifier),
  previous: hash,
});

const asValue = (owner: ChainOwner, event: ChainedEvent): object => {
  const { subjectKind, subjectId, resourceKind, resourceId, traceId, detailsDigest, acceptedEventId, ...rest } = event;
  return {
    schema: 'svc.audit-event.v1',
    ...owner,
    ...rest,
    subject: {
      kind: subjectKind,
      subjectId,
    },
    resource: {
      kind: resourceKind,
      resourceId,
    },
    ...(traceId === null ? {} : { traceId }),
    ...(detailsDigest === null ? {} : { detailsDigest }),
    ...(acceptedEventId === null ? {} : { acceptedEventId }),
  };
};

describe('the text of a chained event', () => {
  test('is the canonical JSON of the event, its scope and the hash before', () => {
    fc.assert(
      fc.property(owners, events, (owner, event) => {
        const text = chainText(owner, event);
        expect(text).toBe(canonicalize(asValue(owner, event)));
        expect(chainHash(owner, event)).toBe(sha256Hex(text));
      }),
    );
  });

  test('has a known answer', () => {
    const owner = { log: 'events', tenantId: 't', projectId: 'p' } as const;
    const event: ChainedEvent = {
      sequence: '1',
      eventId: 'event-01',
      occurredAt: '2026-01-01T00:00:00.000Z',
      subjectKind: 'user',
      subjectId: 'ada "\\\n',
      action: 'a',
      resourceKind: 'k',
      resourceId: 'resource',
      outcome: 'accepted',
      risk: 'low',
      confirmation: 'explicit',
      correlationId: 'correlation-1',
      traceId: null,
      detailsDigest: null,
      acceptedEventId: null,
      previous: chainStart,
    };
    expect(chainText(owner, event)).toBe(
      '{"action":"a","confirmation":"explicit","correlationId":"correlation-1","eventId":"event-01","log":"events",' +
        `"occurredAt":"2026-01-01T00:00:00.000Z","outcome":"accepted","previous":"${chainStart}","projectId":"p",` +
        '"resource":{"kind":"k","resourceId":"resource"},"risk":"low","schema":"svc.audit-event.v1","sequence":"1",' +
        '"subject":{"kind":"user","subjectId":"ada \\"\\\\\\n"},"tenantId":"t"}',
    );
  });
});
