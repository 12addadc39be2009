/** The in-memory ports of provider-region discovery keep to their contracts. */
import { providerAdapterContract } from './adapter-port-contract.ts';
import { cloudConnectionsContract } from './connections-port-contract.ts';
import { inMemoryCloudConnections, inMemoryProviderAdapter } from './in-memory.ts';

cloudConnectionsContract('in memory', async () => {
  const connections = inMemoryCloudConnections();
  return { connections, save: async (connection) => connections.save(connection) };
});

providerAdapterContract('in memory', async () =>
  inMemoryProviderAdapter(
    'provider-a',
    ['compute', 'storage'],
    [{ regionId: 'north', displayName: 'North', availability: 'available', capabilities: ['compute'] }],
    () => 1_700_000_000_000,
  ),
);
