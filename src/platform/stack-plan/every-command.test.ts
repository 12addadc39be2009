/** Stack planning follows the order of checks that every command has. */

import { commandOrderContract } from '../../testing/every-command-contract.ts';
import { holdMethod } from '../../testing/faulty-port.ts';
import { openPlanning, stackRequest } from '../../testing/stack-planning.ts';

commandOrderContract('plan a stack', async () => {
  const { planStack, planStackElsewhere, clock, stacks, plans, policy, engine, audit, events } = openPlanning();
  return {
    contract: planStack.contract,
    clock,
    run: planStack,
    runElsewhere: planStackElsewhere,
    input: stackRequest,
    otherInput: { ...stackRequest, stackId: 'stack-2' },
    resourceId: 'infrastructure-stack:stack-1',
    portCalls: () =>
      [stacks, plans, policy, engine].flatMap(({ calls }) => calls).filter((name) => name !== 'recordRefusal'),
    breakReceipts: (fault) => plans.break('findByRequest', fault),
    breakCommit: (fault) => plans.break('insert', fault),
    breakRefusals: (fault) => plans.break('recordRefusal', fault),
    hold: () => holdMethod(stacks, 'find'),
    audit,
    events,
  };
});
