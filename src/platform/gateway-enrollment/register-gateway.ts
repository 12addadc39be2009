/** Registers a gateway [platform §6.4]. */
import Type from 'typebox';
import type { UseCase } from '../application-contract.ts';
import type { Refusal } from '../refusal.ts';
import { refuseCommand } from '../refusal.ts';
import { untrusted } from '../untrusted.ts';
import { registerGatewayContract } from './contracts.ts';
import {
  commitGateway,
  type EnrolledGateway,
  enrollmentCommand,
  findGateway,
  type GatewayEnrollmentParts,
  gatewayIdSchema,
} from './enrollment-command.ts';
import { registered } from './gateway.ts';

const decodeInput = untrusted(
  Type.Object(
    {
      gatewayId: gatewayIdSchema,
      // Code points, none of them a control; a name that begins or ends in a blank is another name to the eye only.
      displayName: Type.String({ pattern: /^(?!\s)[^\p{Cc}\p{Cs}]{1,128}(?<!\s)$/u }),
    },
    { additionalProperties: false },
  ),
);

export function createRegisterGateway(parts: GatewayEnrollmentParts): UseCase<EnrolledGateway | Refusal> {
  const { gateways } = parts;
  return enrollmentCommand(parts, {
    contract: registerGatewayContract,
    decodeInput,
    identity: (input) => ({ ...input }),
    async work(parts, command) {
      const { gatewayId, displayName } = command.input;
      const answer = await findGateway(parts, gateways, command);
      if ('refusal' in answer) return answer;
      // The receipt has already decided whether this very request registered it.
      if (answer.found !== null) return refuseCommand('gateway-already-exists');
      return commitGateway(parts, gateways, command, {
        expectedRevision: null,
        next: registered(command.context.scope, gatewayId, displayName),
        eventType: 'fleet.gateway.registered',
        mismatch: 'gateway-already-exists',
      });
    },
  });
}
