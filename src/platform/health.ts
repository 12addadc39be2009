/** `GET /health` [platform §4.1]: public, no I/O, says only that the process answers. */
import type { BoundCapability } from '../api/capability.ts';
import { platform } from '../api/platform.ts';

export function healthCapability(version: string): BoundCapability {
  const data = { status: 'ok', service: 'svc-cloud-api', version };
  return {
    descriptor: platform.health,
    resource: () => ({ kind: 'service', id: 'svc-cloud-api' }),
    handler: async () => ({ data }),
  };
}
