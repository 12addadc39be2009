/** The in-memory ports of stack planning keep to their contracts. */
import { planEngineContract } from './engine-port-contract.ts';
import { inMemoryDeploymentStacks, inMemoryPlanEngine, inMemoryPlanPolicy, inMemoryStackPlans } from './in-memory.ts';
import { stackPlansContract } from './plans-port-contract.ts';
import { planPolicyContract } from './policy-port-contract.ts';
import type { StackRequest } from './ports.ts';
import { deploymentStacksContract } from './stacks-port-contract.ts';

const digest = `sha256:${'0'.repeat(64)}`;
const request: StackRequest = {
  stackId: 'stack-1',
  engine: 'opentofu',
  module: { reference: 'module://network/base', version: '1.2.3', digest },
  topology: { reference: 'topology://site/one', digest },
};

deploymentStacksContract('in memory', async () => {
  const stacks = inMemoryDeploymentStacks();
  return { stacks, save: async (stack) => stacks.save(stack) };
});

stackPlansContract('in memory', async () => {
  const plans = inMemoryStackPlans();
  return {
    refusals: plans,
    receipt: (scope, key) => plans.findByRequest(scope, key),
    commit: async (journal) => (await plans.insert(journal)) === 'inserted',
    audit: async () => plans.journal.audit,
    events: async () => plans.journal.events,
  };
});

planEngineContract('in memory', async () =>
  inMemoryPlanEngine('terraform', [{ address: 'module.network.one', action: 'create' }]),
);

planPolicyContract('in memory', async () => ({
  policy: inMemoryPlanPolicy({ engines: ['terraform'], actions: ['delete'] }),
  allowed: { request, changes: [{ address: 'module.network.one', action: 'create' }] },
  refusedRequest: { ...request, engine: 'terraform' },
  refusedChanges: [{ address: 'module.network.one', action: 'delete' }],
}));
