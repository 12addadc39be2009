/** Gateway enrollment over in-memory ports that can be made to fail, with counting ids and random bytes. */
import { silentLog } from '../base/log.ts';
import type { ApplicationContract } from '../platform/application-contract.ts';
import { createConsumeClaim } from '../platform/gateway-enrollment/consume-claim.ts';
import { createGatewayStatus } from '../platform/gateway-enrollment/gateway-status.ts';
import { type InMemoryGateways, inMemoryGateways } from '../platform/gateway-enrollment/in-memory.ts';
import { createIssueClaim } from '../platform/gateway-enrollment/issue-claim.ts';
import type { Gateways } from '../platform/gateway-enrollment/ports.ts';
import { createRegisterGateway } from '../platform/gateway-enrollment/register-gateway.ts';
import type { ConstantTimeEqual } from '../platform/gateway-enrollment/token.ts';
import { type PlatformLimits, platformLimits } from '../platform/limits.ts';
import { at, commandContext, queryContext } from './application-calls.ts';
import { type FaultyPort, faultyPort, type Held, holdMethod } from './faulty-port.ts';
import { type SimulatedClock, simulatedClock } from './simulated-clock.ts';

export const gatewayId = '0190c0de-0000-7000-8000-000000000001';
export const otherGatewayId = '0190c0de-0000-7000-8000-000000000002';
export const requestFingerprint = 'a1'.repeat(32);

export interface OpenEnrollment {
  readonly clock: SimulatedClock;
  readonly store: InMemoryGateways;
  readonly port: FaultyPort<Gateways>;
  readonly register: ReturnType<typeof createRegisterGateway>;
  readonly issue: ReturnType<typeof createIssueClaim>;
  readonly consume: ReturnType<typeof createConsumeClaim>;
  readonly status: ReturnType<typeof createGatewayStatus>;
  /** Calls of the comparison. */
  readonly compared: (readonly [number, number])[];
  /** A context with a fresh key each time. */
  fresh(contract: ApplicationContract, overrides?: object): Record<string, unknown>;
  /** Registers `gatewayId`. */
  registered(): Promise<void>;
  /** Registers it and issues a claim for an hour; returns the token. */
  issued(): Promise<string>;
  view(overrides?: object): Promise<unknown>;
  hold(): Held;
}

export interface EnrollmentChoices {
  readonly freshBytes?: (count: number) => Uint8Array;
  readonly constantTimeEqual?: ConstantTimeEqual;
  readonly limits?: Partial<PlatformLimits>;
}

export function openEnrollment(choices: EnrollmentChoices = {}): OpenEnrollment {
  const clock = simulatedClock();
  const store = inMemoryGateways();
  const port = faultyPort<Gateways>(store);
  const compared: (readonly [number, number])[] = [];
  let ids = 0;
  let keys = 0;
  let tokens = 0;
  const limits = { ...platformLimits, ...choices.limits };
  const parts = {
    gateways: port.port,
    clock,
    log: silentLog,
    newId: () => `fresh-${String(++ids).padStart(8, '0')}`,
    limits,
  };
  const equal: ConstantTimeEqual = (left, right) => {
    compared.push([left.length, right.length]);
    return (choices.constantTimeEqual ?? ((one, two) => Buffer.compare(one, two) === 0))(left, right);
  };
  const freshBytes = choices.freshBytes ?? ((count) => new Uint8Array(count).fill(++tokens));
  const register = createRegisterGateway(parts);
  const issue = createIssueClaim({ ...parts, freshBytes });
  const consume = createConsumeClaim({ ...parts, constantTimeEqual: equal });
  const status = createGatewayStatus(parts);
  const fresh = (contract: ApplicationContract, overrides: object = {}): Record<string, unknown> =>
    commandContext(clock, contract, { idempotencyKey: `fresh-key-${++keys}`, ...overrides });
  const registered = async (): Promise<void> => {
    await register(fresh(register.contract), { gatewayId, displayName: 'Roof' });
  };
  return {
    clock,
    store,
    port,
    register,
    issue,
    consume,
    status,
    compared,
    fresh,
    registered,
    async issued() {
      await registered();
      const claim = await issue(fresh(issue.contract), { gatewayId, claimExpiresAt: at(clock, 3_600_000) });
      if (!('enrollmentToken' in claim)) throw new Error('no claim was issued');
      return claim.enrollmentToken;
    },
    view: (overrides = {}) => status(queryContext('fleet.gateway.enrollment.read', overrides), { gatewayId }),
    hold: () => holdMethod(port, 'find'),
  };
}
