/** What every store of deployment stacks must do [platform §6.3]. */
import { describe, expect, test } from 'vitest';
import type { DeploymentStack, DeploymentStacks } from './ports.ts';

export interface OpenStacks {
  readonly stacks: DeploymentStacks;
  save(stack: DeploymentStack): Promise<void>;
}

const row: DeploymentStack = {
  tenantId: 'tenant-1',
  projectId: 'project-1',
  stackId: 'stack-1',
  stateKey: 'state/stack-1',
  lockId: 'lock/stack-1',
};
const scope = { tenantId: row.tenantId, projectId: row.projectId };

export function deploymentStacksContract(name: string, open: () => Promise<OpenStacks>): void {
  describe(`deployment stacks: ${name}`, () => {
    test('[platform §6.3] a stack is found by its scope and id', async () => {
      const { stacks, save } = await open();
      await save(row);
      expect(await stacks.find(scope, 'stack-1')).toEqual(row);
    });

    test('[platform §6.3] a stack of another scope is none, exactly like no stack', async () => {
      const { stacks, save } = await open();
      await save(row);
      await save({ ...row, tenantId: 'a:b', projectId: 'c' });
      expect(await stacks.find({ ...scope, tenantId: 'tenant-2' }, 'stack-1')).toBeNull();
      expect(await stacks.find({ ...scope, projectId: 'project-2' }, 'stack-1')).toBeNull();
      expect(await stacks.find({ tenantId: 'a', projectId: 'b:c' }, 'stack-1')).toBeNull();
      expect(await stacks.find(scope, 'stack-2')).toBeNull();
    });
  });
}
