/**
 * `GET /api/v1/platform` [platform §5]: the product's boundaries, as constants. It proves nothing about a provider
 * connection or an endpoint.
 */
import type { BoundCapability } from '../api/capability.ts';
import { platform } from '../api/platform.ts';

const data = {
  name: 'Setpoint',
  role: 'ai-native-multi-cloud-iot-control-plane',
  authority: {
    livePointState: 'edge',
    physicalControl: 'edge',
    tenantIdentity: 'svc-cloud',
    desiredRevision: 'svc-cloud',
    placementPolicy: 'svc-cloud',
    actualInfrastructure: 'provider',
  },
  multiCloud: {
    providerModel: 'capability-driven-adapters',
    executionEngines: ['opentofu', 'terraform'],
    stateIsolation: 'deployment-stack',
  },
} as const;

export function metadataCapability(): BoundCapability {
  return {
    descriptor: platform.metadata,
    resource: () => ({ kind: 'service', id: 'svc-cloud-api' }),
    handler: async () => ({ data }),
  };
}
