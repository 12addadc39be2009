/** The descriptor of deployment-stack planning [platform §6.3]. There is no contract that applies a plan. */
import { commandContract } from '../application-contract.ts';

export const planStackContract = commandContract({
  name: 'infrastructure.stack.plan',
  summary: 'Plan the changes of a deployment stack',
  risk: 'medium',
  permission: 'infrastructure.stack.plan',
  confirmation: 'never',
  subjectKind: null,
});
