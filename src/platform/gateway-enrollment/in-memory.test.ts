/** The in-memory store of gateways keeps to its contract. */
import { gatewaysContract } from './gateways-port-contract.ts';
import { inMemoryGateways } from './in-memory.ts';

gatewaysContract('in memory', async () => {
  const gateways = inMemoryGateways();
  return {
    gateways,
    audit: async () => gateways.journal.audit,
    events: async () => gateways.journal.events,
  };
});
