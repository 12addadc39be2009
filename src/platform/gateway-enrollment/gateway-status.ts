/** How far a gateway's enrollment is [platform §6.5]. */
import Type from 'typebox';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type UseCase, useCase } from '../application-contract.ts';
import type { QueryContext } from '../call-context.ts';
import { type PlatformLimits, platformLimits } from '../limits.ts';
import { callOutside } from '../outside.ts';
import { type Refusal, refuseWith } from '../refusal.ts';
import { runQuery } from '../run-query.ts';
import { untrusted } from '../untrusted.ts';
import { gatewayStatusContract } from './contracts.ts';
import { gatewayIdSchema } from './enrollment-command.ts';
import { type GatewayView, viewOf } from './gateway.ts';
import type { Gateways } from './ports.ts';

export interface GatewayStatusParts {
  readonly gateways: Pick<Gateways, 'find'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: PlatformLimits;
}

export interface GatewayStatus {
  readonly ok: true;
  readonly gateway: GatewayView;
}

const decodeInput = untrusted(Type.Object({ gatewayId: gatewayIdSchema }, { additionalProperties: false }));

export function createGatewayStatus(parts: GatewayStatusParts): UseCase<GatewayStatus | Refusal> {
  const { gateways, clock, log, limits = platformLimits } = parts;
  const work = async ({ scope }: QueryContext, { gatewayId }: { readonly gatewayId: string }) => {
    const answer = await callOutside({
      clock,
      log,
      what: 'the lookup of a gateway',
      deadlineMs: limits.store_deadline_ms,
      call: () => gateways.find(scope, gatewayId),
    });
    if (answer.kind !== 'answered') return refuseWith('storage-unavailable');
    const gateway = answer.value;
    if (
      gateway === null ||
      gateway.tenantId !== scope.tenantId ||
      gateway.projectId !== scope.projectId ||
      gateway.gatewayId !== gatewayId
    ) {
      return refuseWith('gateway-not-found');
    }
    return Object.freeze({ ok: true as const, gateway: viewOf(gateway) });
  };
  const use = { contract: gatewayStatusContract, decodeInput, work };
  return useCase(gatewayStatusContract, (context, input) => runQuery(use, context, input));
}
