/**
 * Allowed destinations of data [processor §6.3]: a local endpoint is loopback, over http or https; a remote one is https,
 * and must be approved in task, binding and route.
 */
import { isLoopbackHost } from '../../egress/pinned-address.ts';
import { hasTransport } from '../processor/transport/index.ts';
import type { ProcessorSettings } from './routes.ts';

/** The error in a base URL for `boundary`, or null. */
export function endpointFault(endpoint: string, boundary: ProcessorSettings['boundary']): string | null {
  const url = URL.parse(endpoint);
  if (url === null || !hasTransport(url)) return 'is not an http or https URL';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials; use bearer_token_env';
  if (url.search !== '' || url.hash !== '') return 'is a base URL: no query and no fragment';
  if (boundary === 'local' && !isLoopbackHost(url.hostname)) return 'a local endpoint must be a loopback address';
  if (boundary === 'remote' && url.protocol !== 'https:') return 'a remote endpoint must use https';
  return null;
}

export interface EgressApprovals {
  readonly task: boolean;
  readonly binding: boolean;
  readonly route: boolean;
}

/** The missing approvals for a processor with this boundary. */
export function missingApprovals(boundary: ProcessorSettings['boundary'], approvals: EgressApprovals): string[] {
  if (boundary === 'local') return [];
  return [
    ...(approvals.task ? [] : ["the task's egress.remote_allowed"]),
    ...(approvals.binding ? [] : ["the binding's remote_egress_allowed"]),
    ...(approvals.route ? [] : ["the route's remote_preapproved"]),
  ];
}
