/** What every store of stack plans must do [platform §6.3]: found by request, inserted once, atomically. */
import { describe } from 'vitest';
import { journalContract, type OpenJournal } from '../journal-port-contract.ts';
import type { StackPlan } from './ports.ts';

const digest = `sha256:${'0'.repeat(64)}`;

const plan: StackPlan = {
  tenantId: 'tenant-1',
  projectId: 'project-1',
  stackId: 'stack-1',
  engine: 'opentofu',
  module: { reference: 'module://network/base', version: '1.2.3', digest },
  topology: { reference: 'topology://site/one', digest },
  planId: 'plan-0001',
  status: 'planned',
  approval: 'not-requested',
  changes: { create: 1, update: 0, delete: 0, read: 0, 'no-op': 0, replace: 0 },
  artifact: { reference: 'plan-artifact://plan-0001', digest },
  rejection: null,
  createdAt: '2026-01-01T00:00:00.000Z',
};

export function stackPlansContract(name: string, open: () => Promise<OpenJournal<StackPlan, StackPlan>>): void {
  describe(`stack plans: ${name}`, () => {
    journalContract(open, () => ({ result: plan, data: plan }));
  });
}
