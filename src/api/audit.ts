/** The audit routes as data [audit §4]: the query and its stream, with one set of parameters. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import type { Capability } from './capability.ts';
import { decimal } from './decimal.ts';

/**
 * `svc` wire name of a parameter's grammar; ranges that a pattern cannot say are checked by the handler. Descriptions say
 * the form first: "must be" and a description is the answer to a value without it.
 */
const characters = 'letters, digits or . _ : -';
const identifier = (what: string) =>
  Type.String({ pattern: '^[A-Za-z0-9._:-]{1,128}$', description: `1 to 128 ${characters}: exactly this ${what}` });
const time = (what: string) =>
  Type.String({
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{3})?Z$',
    description: `a time in UTC as YYYY-MM-DDTHH:MM:SSZ: only events ${what} it`,
  });

const auditQuery = strict({
  action: Type.Optional(identifier('action')),
  cursor: Type.Optional(
    Type.String({
      pattern: '^(0|[1-9][0-9]{0,19})$',
      description: 'a sequence as canonical decimal: only events before it',
    }),
  ),
  from: Type.Optional(time('not before')),
  limit: Type.Optional(decimal(1, 100, '1 to 100, default 50')),
  resourceId: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9._:-]{8,128}$', description: `8 to 128 ${characters}: exactly this resource` }),
  ),
  resourceKind: Type.Optional(identifier('kind of resource')),
  subjectId: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'exactly this subject' })),
  to: Type.Optional(time('not after')),
});

const longIdentifier = Type.String({ minLength: 8, maxLength: 128 });
const shortIdentifier = Type.String({ minLength: 1, maxLength: 128 });

const auditItem = strict({
  eventId: longIdentifier,
  sequence: Type.String({ pattern: '^[1-9][0-9]*$' }),
  occurredAt: Type.String(),
  subject: strict({
    kind: Type.Enum(['user', 'service-account', 'gateway', 'system']),
    subjectId: shortIdentifier,
  }),
  action: shortIdentifier,
  resource: strict({ kind: shortIdentifier, resourceId: longIdentifier }),
  outcome: Type.Enum(['accepted', 'succeeded', 'failed', 'denied', 'unknown']),
  risk: Type.Enum(['low', 'medium', 'high', 'critical']),
  confirmation: Type.Enum(['explicit', 'not-required']),
  correlationId: longIdentifier,
  traceId: Type.Optional(Type.String({ pattern: '^[0-9a-f]{32}$' })),
  detailsDigest: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
});

const base = {
  method: 'GET',
  kind: 'query',
  risk: 'low',
  permission: 'audit.event.read',
  confirmation: 'never',
  confirmedIn: 'header',
  // Searches have a log of their own [audit §2].
  audit: 'not-required',
  idempotent: true,
  params: strict({}),
  query: auditQuery,
  body: null,
} as const;

const logName = Type.Optional(Type.Enum(['events', 'access'], { description: 'events (default) or access' }));
const whole = (what: string) => decimal(1, Number.MAX_SAFE_INTEGER, `1 or more as canonical decimal: ${what}`);

export const auditOperations = {
  search: {
    ...base,
    rate: 'search',
    name: 'audit.event.search',
    summary: 'Search audit events, newest first',
    path: '/api/v1/audit/events',
    answer: strict({
      items: Type.Array(auditItem, { maxItems: 100 }),
      nextCursor: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  stream: {
    ...base,
    rate: 'search',
    name: 'audit.event.stream',
    summary: 'Stream a page of audit events as server-sent events; Last-Event-ID resumes',
    path: '/api/v1/audit/events/stream',
    answer: Type.String({ description: 'server-sent events' }),
    answerType: 'text/event-stream',
  },
  checkpoint: {
    ...base,
    name: 'audit.checkpoint.read',
    summary: 'Get the newest checkpoint of a log, signed and cosigned, as a signed note',
    path: '/api/v1/audit/checkpoint',
    query: strict({ log: logName }),
    answer: Type.String({ description: 'a checkpoint (C2SP tlog-checkpoint) as a signed note' }),
    answerType: 'text/plain',
  },
  proof: {
    ...base,
    rate: 'search',
    name: 'audit.event.proof',
    summary: 'Get the inclusion proof of an event',
    path: '/api/v1/audit/events/:sequence/proof',
    params: strict({ sequence: whole('the sequence of the event') }),
    query: strict({}),
    answer: Type.String({ description: 'a proof of inclusion (C2SP tlog-proof)' }),
    answerType: 'text/plain',
  },
  consistency: {
    ...base,
    name: 'audit.log.consistency',
    summary: 'Get a consistency proof between two sizes of a log',
    path: '/api/v1/audit/consistency',
    query: strict({
      from: whole('entries of the shorter log'),
      log: logName,
      to: Type.Optional(whole('entries of the longer log; those of the last checkpoint by default')),
    }),
    answer: strict({ from: Type.String(), to: Type.String(), proof: Type.Array(Type.String(), { maxItems: 63 }) }),
  },
} as const satisfies Record<string, Capability>;
