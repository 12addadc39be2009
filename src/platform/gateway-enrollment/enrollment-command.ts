/** The common part of register, issue and consume: their dependencies, and the commit of a changed gateway with its journal. */
import Type from 'typebox';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type UseCase, useCase } from '../application-contract.ts';
import { type PlatformLimits, platformLimits } from '../limits.ts';
import { type Refusal, type RefusalCode, type RefusedCommand, refuseCommand } from '../refusal.ts';
import {
  type CommandParts,
  type CommandUse,
  type ContractCommand,
  callStore,
  isSameRequest,
  journalOf,
  runCommand,
  type Worked,
} from '../run-command.ts';
import { type Gateway, type GatewayView, viewOf } from './gateway.ts';
import type { Gateways } from './ports.ts';

export interface GatewayEnrollmentParts {
  readonly gateways: Gateways;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  readonly limits?: PlatformLimits;
}

export interface EnrolledGateway {
  readonly ok: true;
  /** True when an earlier call with the same key did the work; `gateway` is as that call left it. */
  readonly replayed: boolean;
  readonly gateway: GatewayView;
}

/** A UUID in its canonical, lowercase form: one spelling for one gateway. */
export const gatewayIdSchema = Type.String({
  pattern: /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
});

function enrolled(gateway: GatewayView, replayed: boolean): EnrolledGateway {
  return Object.freeze({ ok: true, replayed, gateway });
}

/** One of the three, from its decoding and its work. */
export function enrollmentCommand<Input extends { readonly gatewayId: string }, Success extends EnrolledGateway>(
  parts: GatewayEnrollmentParts,
  use: Pick<CommandUse<Input, GatewayView, Success | EnrolledGateway>, 'contract' | 'decodeInput' | 'identity'> & {
    work(parts: CommandParts, command: ContractCommand<Input>): Promise<Worked<Success | EnrolledGateway>>;
  },
): UseCase<Success | EnrolledGateway | Refusal> {
  const { gateways, clock, log, newId, limits = platformLimits } = parts;
  const commandParts: CommandParts = { clock, log, newId, limits };
  const whole: CommandUse<Input, GatewayView, Success | EnrolledGateway> = {
    ...use,
    resourceKind: 'gateway',
    resourceId: (input) => input.gatewayId,
    findReceipt: (scope, key) => gateways.findReceipt(scope, key),
    replayed: (view) => enrolled(view, true),
    async work(command) {
      const worked = await use.work(commandParts, command);
      if ('done' in worked || worked.outcome !== 'denied') return worked;
      // The conflict may come from a concurrent call with the same key, committed since the first lookup.
      return (await receiptOf(commandParts, gateways, command)) ?? worked;
    },
    refusals: gateways,
  };
  return useCase(use.contract, (context, input) => runCommand(commandParts, whole, context, input));
}

/** The gateway of the command's scope; a row that is not of it counts as none. */
export async function findGateway(
  parts: CommandParts,
  gateways: Gateways,
  { context: { scope }, input: { gatewayId } }: ContractCommand<{ readonly gatewayId: string }>,
): Promise<{ readonly found: Gateway | null } | RefusedCommand> {
  const answer = await callStore(parts, 'the lookup of a gateway', () => gateways.find(scope, gatewayId));
  if (answer.kind !== 'answered') return refuseCommand('storage-unavailable');
  const gateway = answer.value;
  const inScope =
    gateway !== null &&
    gateway.tenantId === scope.tenantId &&
    gateway.projectId === scope.projectId &&
    gateway.gatewayId === gatewayId;
  return { found: inScope ? gateway : null };
}

/** Commits `next`; a race that was lost ends as replay, conflict or `mismatch`. */
export async function commitGateway<Input>(
  parts: CommandParts,
  gateways: Gateways,
  command: ContractCommand<Input>,
  change: {
    readonly expectedRevision: number | null;
    readonly next: Gateway;
    readonly eventType: string;
    /** The meaning of a gateway with an unexpected revision for this command. */
    readonly mismatch: RefusalCode;
  },
): Promise<Worked<EnrolledGateway>> {
  const view = viewOf(change.next);
  const journal = journalOf(parts, command, {
    result: view,
    eventType: change.eventType,
    data: view,
    auditDetails: { state: view.state, revision: view.revision, ...(view.claimId ? { claimId: view.claimId } : {}) },
  });
  const committed = await callStore(parts, 'the commit of a gateway', () =>
    gateways.commit(change.expectedRevision, change.next, journal),
  );
  if (committed.kind !== 'answered') return refuseCommand('storage-unavailable', 'unknown');
  if (committed.value === 'committed') return { done: enrolled(view, false) };
  if (committed.value === 'revision-mismatch') return refuseCommand(change.mismatch);
  // A concurrent call with the same key was first.
  return (await receiptOf(parts, gateways, command)) ?? refuseCommand('storage-unavailable');
}

/** The command's end when its key has a receipt by now; null when it has none. */
async function receiptOf<Input>(
  parts: CommandParts,
  gateways: Gateways,
  { context: { scope, subject, idempotencyKey }, requestDigest }: ContractCommand<Input>,
): Promise<Worked<EnrolledGateway> | null> {
  const found = await callStore(parts, 'the lookup of a receipt', () => gateways.findReceipt(scope, idempotencyKey));
  if (found.kind !== 'answered') return refuseCommand('storage-unavailable');
  if (found.value === null) return null;
  return isSameRequest(found.value, subject, requestDigest)
    ? { done: enrolled(found.value.result, true) }
    : refuseCommand('idempotency-conflict');
}
