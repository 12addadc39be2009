/** `GET /health` (§2.2, decisions §3): public, no I/O, says only that the process answers. */
import Type from 'typebox';
import type { BoundCapability } from '../api/capability.ts';

const none = Type.Object({}, { additionalProperties: false });

export function healthCapability(version: string): BoundCapability {
  const data = { status: 'ok', service: 'svc-cloud-api', version };
  return {
    descriptor: {
      name: 'platform.health',
      summary: 'Liveness of the process',
      method: 'GET',
      path: '/health',
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
      answer: Type.Object({ status: Type.String(), service: Type.String(), version: Type.String() }),
    },
    resource: () => ({ kind: 'service', id: 'svc-cloud-api' }),
    handler: async () => ({ data }),
  };
}
