/** The public platform routes as data [platform §4.1], [platform §5]: no authentication, no tenant data, no I/O. */
import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import type { Capability } from './capability.ts';

const none = Type.Object({}, { additionalProperties: false });

/** Ignores queries: monitors and load balancers add parameters of their own [platform §2.6]. */
function publicQuery<A extends TSchema>(name: string, summary: string, path: string, answer: A) {
  return { ...query(name, summary, path, answer), ignoresQuery: true } as const;
}

function query<A extends TSchema>(name: string, summary: string, path: string, answer: A) {
  return {
    name,
    summary,
    method: 'GET',
    path,
    kind: 'query',
    risk: 'low',
    permission: null,
    confirmation: 'never',
    confirmedIn: 'header',
    audit: 'not-required',
    idempotent: true,
    params: none,
    query: none,
    body: null,
    answer,
  } as const;
}

const authority = strict({
  livePointState: Type.String(),
  physicalControl: Type.String(),
  tenantIdentity: Type.String(),
  desiredRevision: Type.String(),
  placementPolicy: Type.String(),
  actualInfrastructure: Type.String(),
});

const word = Type.Enum(['ok', 'unavailable', 'broken']);
/** The checks of `/ready` [platform §4.1]: words only. */
const readyChecks = strict({ storage: word, audit: word, scheduler: word, devices: word });

export const platform = {
  health: publicQuery(
    'platform.health',
    'Liveness of the process',
    '/health',
    strict({ status: Type.String(), service: Type.String(), version: Type.String() }),
  ),
  metadata: publicQuery(
    'platform.metadata',
    'What this product is, and which part of the world it has authority over',
    '/api/v1/platform',
    strict({
      name: Type.String(),
      role: Type.String(),
      authority,
      multiCloud: strict({
        providerModel: Type.String(),
        executionEngines: Type.Array(Type.String()),
        stateIsolation: Type.String(),
      }),
    }),
  ),
  ready: publicQuery(
    'platform.ready',
    'Whether the service can do its work: 503 `not-ready` with the same words in its details when it cannot',
    '/ready',
    strict({ status: Type.Literal('ready'), checks: readyChecks }),
  ),
  metrics: {
    ...query(
      'platform.metrics',
      'Measurements of the running service, for Prometheus',
      '/metrics',
      Type.String({ description: 'Prometheus text format' }),
    ),
    permission: 'automation.read',
    openTo: 'loopback',
    answerType: 'text/plain',
  },
} as const satisfies Record<string, Capability>;
