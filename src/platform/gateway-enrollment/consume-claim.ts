/**
 * Enrolls a gateway that presents its token [platform §6.4]. Unknown gateway, wrong state and wrong token get one answer; only a
 * caller with the right token learns that it expired.
 */
import Type from 'typebox';
import type { UseCase } from '../application-contract.ts';
import { type Refusal, refuseCommand } from '../refusal.ts';
import { untrusted } from '../untrusted.ts';
import { consumeClaimContract } from './contracts.ts';
import {
  commitGateway,
  type EnrolledGateway,
  enrollmentCommand,
  findGateway,
  type GatewayEnrollmentParts,
  gatewayIdSchema,
} from './enrollment-command.ts';
import { claimed, isClaimOpen } from './gateway.ts';
import { type ConstantTimeEqual, gatewayOfToken, tokenDigestOf, tokenPattern } from './token.ts';

export interface ConsumeClaimParts extends GatewayEnrollmentParts {
  /** The platform's own when absent. */
  readonly constantTimeEqual?: ConstantTimeEqual;
}

interface Input {
  readonly gatewayId: string;
  readonly tokenDigest: string;
  readonly credentialRequestFingerprint: string;
}

const decodeShape = untrusted(
  Type.Object(
    {
      gatewayId: gatewayIdSchema,
      enrollmentToken: Type.String({ pattern: tokenPattern }),
      credentialRequestFingerprint: Type.String({ pattern: /^[0-9a-f]{64}$/ }),
    },
    { additionalProperties: false },
  ),
);

/** The token ends here: what follows knows its digest only. */
function decodeInput(value: unknown): Input | null {
  const shape = decodeShape(value);
  if (shape === null) return null;
  const { gatewayId, enrollmentToken, credentialRequestFingerprint } = shape;
  return { gatewayId, tokenDigest: tokenDigestOf(enrollmentToken), credentialRequestFingerprint };
}

export function createConsumeClaim(parts: ConsumeClaimParts): UseCase<EnrolledGateway | Refusal> {
  const { gateways, constantTimeEqual } = parts;
  return enrollmentCommand<Input, EnrolledGateway>(parts, {
    contract: consumeClaimContract,
    decodeInput,
    identity: (input) => ({ ...input }),
    async work(parts, command) {
      const { nowMs, input } = command;
      const answer = await findGateway(parts, gateways, command);
      if ('refusal' in answer) return answer;
      const gateway = gatewayOfToken(answer.found, input.tokenDigest, constantTimeEqual);
      if (gateway === null) return refuseCommand('invalid-enrollment-token');
      if (!isClaimOpen(gateway.claim, nowMs)) return refuseCommand('enrollment-claim-expired');
      return commitGateway(parts, gateways, command, {
        expectedRevision: gateway.revision,
        next: claimed(gateway, input.credentialRequestFingerprint, nowMs),
        eventType: 'fleet.gateway.enrollment.consumed',
        mismatch: 'concurrent-modification',
      });
    },
  });
}
