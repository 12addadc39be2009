/** The public platform routes as data (§4.2, decisions §3 "health", "platform"): no authentication, no tenant data, no I/O. */
import Type, { type TSchema } from 'typebox';
import type { Capability } from './capability.ts';

const none = Type.Object({}, { additionalProperties: false });
const strict = <P extends Type.TProperties>(properties: P) => Type.Object(properties, { additionalProperties: false });

function publicQuery(name: string, summary: string, path: string, answer: TSchema): Capability {
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
  };
}

const authority = strict({
  livePointState: Type.String(),
  physicalControl: Type.String(),
  tenantIdentity: Type.String(),
  desiredRevision: Type.String(),
  placementPolicy: Type.String(),
  actualInfrastructure: Type.String(),
});

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
} as const satisfies Record<string, Capability>;
