/**
 * The one path of every command without a route. Order of checks: decode → permission, before any read → confirmation →
 * replay of the same key, so that a late retry gets its receipt even after expiry → time window → the work. Success is
 * recorded by the store together with the change; every refusal is recorded here.
 */
import type { AuditEntry } from '../audit/event.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import type { Clock } from '../base/clock.ts';
import { sha256Hex } from '../base/digest.ts';
import type { Log } from '../base/log.ts';
import type { ApplicationContract } from './application-contract.ts';
import { type CallSubject, type CommandContext, decodeCommandContext, decodeWho, type Scope } from './call-context.ts';
import { instant } from './instant.ts';
import type { Journal, Receipt, RefusalRecord } from './journal.ts';
import type { PlatformLimits } from './limits.ts';
import { callOutside, type Outside } from './outside.ts';
import { type Refusal, type RefusedCommand, refuseCommand } from './refusal.ts';

export interface CommandParts {
  readonly clock: Clock;
  readonly log: Log;
  /** A fresh id of 8..128 characters of `A-Za-z0-9._:-`. */
  readonly newId: () => string;
  readonly limits: PlatformLimits;
}

export interface CommandUse<Input, Result, Success> {
  readonly contract: ApplicationContract;
  readonly resourceKind: string;
  decodeInput(value: unknown): Input | null;
  /** Identifies the row within the scope. */
  resourceId(input: Input): string;
  /** The members that make two requests equal; free of secrets. */
  identity(input: Input): Readonly<Record<string, unknown>>;
  findReceipt(scope: Scope, idempotencyKey: string): Promise<Receipt<Result> | null>;
  /** The answer to a retry. */
  replayed(result: Result): Success;
  work(command: ContractCommand<Input>): Promise<Worked<Success>>;
  readonly refusals: RefusalRecord;
}

/** A command that passed every check before the work. */
export interface ContractCommand<Input> {
  readonly contract: ApplicationContract;
  readonly context: CommandContext;
  readonly input: Input;
  readonly requestDigest: string;
  readonly resource: AuditEntry['resource'];
  /** The time of the checks, also used by the work. */
  readonly nowMs: number;
}

export type Worked<Success> = { readonly done: Success } | RefusedCommand;

export async function runCommand<Input, Result, Success>(
  parts: CommandParts,
  use: CommandUse<Input, Result, Success>,
  rawContext: unknown,
  rawInput: unknown,
): Promise<Success | Refusal> {
  const { contract } = use;
  const context = decodeCommandContext(contract, rawContext);
  const input = use.decodeInput(rawInput);
  const resource = {
    kind: use.resourceKind,
    // No row's id is `-`: the audit event shows that no row was named.
    resourceId: `${use.resourceKind}:${input === null ? '-' : use.resourceId(input)}`,
  };
  const caller = context ?? decodeWho(rawContext);
  const refused = async (reason: RefusedCommand): Promise<Refusal> => {
    if (caller !== null) await record(parts, use.refusals, refusalEntry(parts, contract, caller, resource, reason));
    return reason.refusal;
  };
  if (context === null || input === null) return refused(refuseCommand('invalid-input'));
  if (contract.permission !== null && !context.permissions.includes(contract.permission)) {
    return refused(refuseCommand('permission-denied'));
  }
  const nowMs = parts.clock.wallMs();
  if (contract.confirmation === 'always' && !isConfirmed(context, nowMs)) {
    return refused(refuseCommand('confirmation-required'));
  }
  const requestDigest = sha256Hex(canonicalJson({ command: contract.name, input: use.identity(input) }));
  const earlier = await callStore(parts, 'the lookup of a receipt', () =>
    use.findReceipt(context.scope, context.idempotencyKey),
  );
  if (earlier.kind !== 'answered') return refused(refuseCommand('storage-unavailable'));
  if (earlier.value !== null) {
    if (isSameRequest(earlier.value, context.subject, requestDigest)) return use.replayed(earlier.value.result);
    return refused(refuseCommand('idempotency-conflict'));
  }
  const outside = outsideWindow(context, nowMs);
  if (outside !== null) return refused(outside);
  const worked = await use.work({ contract, context, input, requestDigest, resource, nowMs });
  return 'done' in worked ? worked.done : refused(worked);
}

/** Of the same subject, for the same thing. */
export function isSameRequest(
  earlier: Pick<Receipt<unknown>, 'subject' | 'requestDigest'>,
  subject: CallSubject,
  requestDigest: string,
): boolean {
  return (
    earlier.requestDigest === requestDigest &&
    earlier.subject.kind === subject.kind &&
    earlier.subject.subjectId === subject.subjectId
  );
}

/** A store call within its deadline; anything but an answer means that the store is unavailable. */
export function callStore<T>(parts: CommandParts, what: string, call: () => Promise<T>): Promise<Outside<T>> {
  return callOutside({ ...parts, what, deadlineMs: parts.limits.store_deadline_ms, call });
}

/** The journal that the store writes with the changed aggregate. */
export function journalOf<Input, Result, Data>(
  parts: CommandParts,
  command: ContractCommand<Input>,
  success: {
    readonly result: Result;
    readonly eventType: string;
    readonly data: Data;
    readonly auditDetails: Readonly<Record<string, unknown>>;
  },
): Journal<Result, Data> {
  const { contract, context, resource } = command;
  return {
    receipt: {
      scope: context.scope,
      idempotencyKey: context.idempotencyKey,
      subject: context.subject,
      requestDigest: command.requestDigest,
      result: success.result,
    },
    audit: {
      subject: context.subject,
      action: contract.name,
      resource,
      outcome: 'succeeded',
      risk: contract.risk,
      confirmation: contract.confirmation === 'always' ? 'explicit' : 'not-required',
      correlationId: context.idempotencyKey,
      details: success.auditDetails,
    },
    event: {
      eventId: parts.newId(),
      type: success.eventType,
      scope: context.scope,
      occurredAt: instant(parts.clock.wallMs()),
      data: success.data,
    },
  };
}

function isConfirmed(context: CommandContext, nowMs: number): boolean {
  const { confirmedAtMs, issuedAtMs } = context;
  return confirmedAtMs !== null && confirmedAtMs >= issuedAtMs && confirmedAtMs <= nowMs;
}

function outsideWindow(context: CommandContext, nowMs: number): RefusedCommand | null {
  if (context.issuedAtMs > nowMs || context.expiresAtMs <= context.issuedAtMs) return refuseCommand('invalid-input');
  return context.expiresAtMs <= nowMs ? refuseCommand('command-expired') : null;
}

function refusalEntry(
  parts: CommandParts,
  contract: ApplicationContract,
  caller: { readonly scope: Scope; readonly subject: CallSubject } | CommandContext,
  resource: AuditEntry['resource'],
  { refusal, outcome }: RefusedCommand,
): { scope: Scope; entry: AuditEntry } {
  const confirmed = 'confirmedAtMs' in caller && caller.confirmedAtMs !== null;
  return {
    scope: caller.scope,
    entry: {
      subject: caller.subject,
      action: contract.name,
      resource,
      outcome,
      risk: contract.risk,
      confirmation: contract.confirmation === 'always' && confirmed ? 'explicit' : 'not-required',
      correlationId: 'idempotencyKey' in caller ? caller.idempotencyKey : parts.newId(),
      details: { code: refusal.code, retryable: refusal.retryable },
    },
  };
}

/** If a refusal cannot be recorded, the command is still refused [platform §6.1]. */
async function record(
  parts: CommandParts,
  refusals: RefusalRecord,
  { scope, entry }: { scope: Scope; entry: AuditEntry },
): Promise<void> {
  await callStore(parts, 'the audit of a refusal', () => refusals.recordRefusal(scope, entry));
}
