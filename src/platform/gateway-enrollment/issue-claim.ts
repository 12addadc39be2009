/** Issues the one-time claim with which a gateway enrolls [platform §6.4]. The token is answered once. */
import Type from 'typebox';
import type { UseCase } from '../application-contract.ts';
import { instantMs } from '../instant.ts';
import { platformLimits } from '../limits.ts';
import { type Refusal, refuseCommand } from '../refusal.ts';
import { untrusted } from '../untrusted.ts';
import { issueClaimContract } from './contracts.ts';
import {
  commitGateway,
  type EnrolledGateway,
  enrollmentCommand,
  findGateway,
  type GatewayEnrollmentParts,
  gatewayIdSchema,
} from './enrollment-command.ts';
import { awaitingClaim, claimRefusal } from './gateway.ts';
import { newToken, tokenDigestOf } from './token.ts';

export interface IssueClaimParts extends GatewayEnrollmentParts {
  /** Unpredictable bytes. */
  readonly freshBytes: (count: number) => Uint8Array;
}

/** Of the call that issued the claim; a replay is an `EnrolledGateway` without token. */
export interface IssuedClaim extends EnrolledGateway {
  readonly enrollmentToken: string;
}

interface Input {
  readonly gatewayId: string;
  readonly claimExpiresAtMs: number;
}

const decodeShape = untrusted(
  Type.Object({ gatewayId: gatewayIdSchema, claimExpiresAt: Type.String() }, { additionalProperties: false }),
);

function decodeInput(value: unknown): Input | null {
  const shape = decodeShape(value);
  const claimExpiresAtMs = shape === null ? null : instantMs(shape.claimExpiresAt);
  return shape === null || claimExpiresAtMs === null ? null : { gatewayId: shape.gatewayId, claimExpiresAtMs };
}

export function createIssueClaim(parts: IssueClaimParts): UseCase<IssuedClaim | EnrolledGateway | Refusal> {
  const { gateways, freshBytes, newId, limits = platformLimits } = parts;
  return enrollmentCommand<Input, IssuedClaim>(parts, {
    contract: issueClaimContract,
    decodeInput,
    identity: (input) => ({ ...input }),
    async work(parts, command) {
      const { nowMs, input } = command;
      const aheadMs = input.claimExpiresAtMs - nowMs;
      if (aheadMs <= 0 || aheadMs > limits.claim_ahead_max_ms) return refuseCommand('invalid-input');
      const answer = await findGateway(parts, gateways, command);
      if ('refusal' in answer) return answer;
      const { found } = answer;
      if (found === null) return refuseCommand('gateway-not-found');
      const refusal = claimRefusal(found, nowMs);
      if (refusal !== null) return refuseCommand(refusal);
      const token = newToken(freshBytes);
      const claim = { claimId: newId(), issuedAtMs: nowMs, expiresAtMs: input.claimExpiresAtMs };
      const committed = await commitGateway(parts, gateways, command, {
        expectedRevision: found.revision,
        next: awaitingClaim(found, claim, tokenDigestOf(token)),
        eventType: 'fleet.gateway.enrollment.issued',
        mismatch: 'concurrent-modification',
      });
      // A replay's token is the one that the first call answered, not this one.
      if (!('done' in committed) || committed.done.replayed) return committed;
      return { done: Object.freeze({ ...committed.done, enrollmentToken: token }) };
    },
  });
}
