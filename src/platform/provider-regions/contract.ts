/** The descriptor of provider-region discovery [platform §6.2]. */
import { queryContract } from '../application-contract.ts';

export const discoverRegionsContract = queryContract({
  name: 'cloud_connection.region.discover',
  summary: 'List the regions that a cloud connection can reach',
  risk: 'low',
  permission: 'cloud-connections:read',
});
