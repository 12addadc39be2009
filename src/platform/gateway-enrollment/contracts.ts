/** The descriptors of gateway registration, enrollment and status [platform §6.4] and [platform §6.5]. */
import { commandContract, queryContract } from '../application-contract.ts';

export const registerGatewayContract = commandContract({
  name: 'fleet.gateway.create',
  summary: 'Register a gateway',
  risk: 'low',
  permission: 'fleet.gateway.create',
  confirmation: 'never',
  subjectKind: null,
});

export const issueClaimContract = commandContract({
  name: 'fleet.gateway.enrollment.issue',
  summary: 'Issue the one-time token with which a gateway enrolls',
  risk: 'high',
  permission: 'fleet.gateway.enrollment.issue',
  confirmation: 'always',
  subjectKind: null,
});

/** The gateway itself calls: the token is its authority. */
export const consumeClaimContract = commandContract({
  name: 'fleet.gateway.enrollment.consume',
  summary: 'Enroll a gateway with its token',
  risk: 'high',
  permission: null,
  confirmation: 'never',
  subjectKind: 'gateway',
});

export const gatewayStatusContract = queryContract({
  name: 'fleet.gateway.enrollment.read',
  summary: 'Read the enrollment status of a gateway',
  risk: 'low',
  permission: 'fleet.gateway.enrollment.read',
});
