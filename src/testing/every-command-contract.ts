/**
 * The common order of every command without a route: decode → permission → confirmation → replay → window → the work, and a
 * record of each outcome [platform §6.1].
 */
import { describe, expect, test } from 'vitest';
import type { AuditEntry } from '../audit/event.ts';
import type { ApplicationContract } from '../platform/application-contract.ts';
import type { Scope } from '../platform/call-context.ts';
import { at, callScope, commandContext } from './application-calls.ts';
import { type Held, type PortFault, settledPort } from './faulty-port.ts';
import { hostileVariants } from './hostile-values.ts';
import type { SimulatedClock } from './simulated-clock.ts';

interface CommandResult {
  readonly ok: boolean;
  readonly code?: string;
  readonly retryable?: boolean;
  readonly replayed?: boolean;
  readonly enrollmentToken?: string;
}

/** A command over in-memory ports that succeeds with `input`. */
export interface OpenCommand {
  readonly contract: ApplicationContract;
  readonly clock: SimulatedClock;
  run(context: unknown, input: unknown): Promise<CommandResult>;
  /** The same command in another process over the same stores. */
  runElsewhere(context: unknown, input: unknown): Promise<CommandResult>;
  readonly input: object;
  /** Decodes, and is another request. */
  readonly otherInput: object;
  /** The audit resource of `input`. */
  readonly resourceId: string;
  /** Calls of ports, except those that record a refusal. */
  portCalls(): readonly string[];
  breakReceipts(fault: PortFault | null): void;
  breakCommit(fault: PortFault | null): void;
  breakRefusals(fault: PortFault | null): void;
  /** From now on calls pause between looking up their receipt and looking up their row, until they are released. */
  hold(): Held;
  audit(): readonly { readonly scope: Scope; readonly entry: AuditEntry }[];
  events(): readonly unknown[];
}

export function commandOrderContract(name: string, open: () => Promise<OpenCommand>): void {
  describe(`${name}: the order of checks`, () => {
    decodingTests(open);
    permissionTests(open);
    confirmationTests(open);
    replayTests(open);
    windowTests(open);
    recordTests(open);
  });
}

const invalid = { ok: false, code: 'invalid-input', retryable: false };

function decodingTests(open: () => Promise<OpenCommand>): void {
  test('contracts a hostile context is invalid input, and nothing is read', async () => {
    const { run, contract, clock, input, portCalls } = await open();
    for (const { what, value } of hostileVariants(commandContext(clock, contract))) {
      expect(await run(value, input), what).toEqual(invalid);
    }
    expect(portCalls()).toEqual([]);
  });

  test('contracts a hostile input is invalid input, and nothing is read', async () => {
    const { run, contract, clock, input, portCalls } = await open();
    for (const { what, value } of hostileVariants(input)) {
      expect(await run(commandContext(clock, contract), value), what).toEqual(invalid);
    }
    expect(portCalls()).toEqual([]);
  });

  test.each([
    [{ tenantId: '' }],
    [{ tenantId: 'a/b' }],
    [{ projectId: 'p'.repeat(129) }],
    [{ subjectKind: 'robot' }],
    [{ subjectId: 'ada\n' }],
    [{ permissions: 'fleet.gateway.create' }],
    [{ permissions: [1] }],
    [{ permissions: Array.from({ length: 257 }, (_, index) => `p${index}`) }],
    [{ idempotencyKey: 'k'.repeat(7) }],
    [{ idempotencyKey: 'k'.repeat(129) }],
    [{ idempotencyKey: 'key 00000001' }],
    [{ idempotencyKey: '-key-0000001' }],
    [{ issuedAt: 1_700_000_000_000 }],
    [{ issuedAt: '2023-11-14T22:13:19+00:00' }],
    [{ expiresAt: '2023-02-30T00:00:00Z' }],
    [{ confirmation: { method: 'implied', confirmedAt: '2023-11-14T22:13:20Z' } }],
    [{ confirmation: { method: 'explicit', confirmedAt: 'now' } }],
    [{ confirmation: { method: 'explicit' } }],
    [{ confirmation: true }],
  ])('contracts the context member %j is invalid input', async (member) => {
    const { run, contract, clock, input, portCalls } = await open();
    expect(await run(commandContext(clock, contract, member), input)).toEqual(invalid);
    expect(portCalls()).toEqual([]);
  });

  test.each([8, 128])('contracts a key of %i characters is taken', async (length) => {
    const { run, contract, clock, input } = await open();
    const context = commandContext(clock, contract, { idempotencyKey: 'k'.repeat(length) });
    expect(await run(context, input)).toMatchObject({ ok: true, replayed: false });
  });

  test('contracts 256 permissions are taken', async () => {
    const { run, contract, clock, input } = await open();
    const others = Array.from({ length: 255 }, (_, index) => `p${index}`);
    const context = commandContext(clock, contract, { permissions: [...others, contract.permission ?? 'p'] });
    expect(await run(context, input)).toMatchObject({ ok: true });
  });
}

function permissionTests(open: () => Promise<OpenCommand>): void {
  test('contracts permission is checked before any read, before confirmation and before the window', async () => {
    const { run, contract, clock, input, portCalls } = await open();
    if (contract.permission === null) {
      expect(await run(commandContext(clock, contract, { permissions: [] }), input)).toMatchObject({ ok: true });
      return;
    }
    const good = commandContext(clock, contract);
    const permissions = ['fleet.gateway', `${contract.permission}.all`, contract.permission.toUpperCase(), '*'];
    const { confirmation: _, ...unconfirmed } = good;
    for (const context of [
      { ...good, permissions },
      { ...good, permissions: [] },
      { ...unconfirmed, permissions, expiresAt: at(clock, -1) },
    ]) {
      expect(await run(context, input)).toEqual({ ok: false, code: 'permission-denied', retryable: false });
    }
    expect(portCalls()).toEqual([]);
  });

  test('contracts a lost permission also denies the replay', async () => {
    const { run, contract, clock, input } = await open();
    if (contract.permission === null) return;
    await run(commandContext(clock, contract), input);
    expect(await run(commandContext(clock, contract, { permissions: [] }), input)).toMatchObject({
      code: 'permission-denied',
    });
  });
}

function confirmationTests(open: () => Promise<OpenCommand>): void {
  test('contracts an explicit confirmation lies in [issuedAt, now], where one is needed', async () => {
    const { run, contract, clock, input, portCalls } = await open();
    const confirmed = (offsetMs: number): Record<string, unknown> =>
      commandContext(clock, contract, { confirmation: { method: 'explicit', confirmedAt: at(clock, offsetMs) } });
    const refused = { ok: false, code: 'confirmation-required', retryable: false };
    if (contract.confirmation === 'always') {
      const { confirmation: _, ...unconfirmed } = confirmed(0);
      expect(await run(unconfirmed, input)).toEqual(refused);
      expect(await run(confirmed(-1001), input)).toEqual(refused);
      expect(await run(confirmed(1), input)).toEqual(refused);
      expect(portCalls()).toEqual([]);
    }
    expect(await run(confirmed(-1000), input)).toMatchObject({ ok: true, replayed: false });
    expect(await run(confirmed(0), input)).toMatchObject({ ok: true, replayed: true });
  });
}

function replayTests(open: () => Promise<OpenCommand>): void {
  test('contracts a late retry gets its receipt even after expiry, and nothing happens again', async () => {
    const { run, contract, clock, input, audit, events } = await open();
    const context = commandContext(clock, contract);
    const first = await run(context, input);
    expect(first).toMatchObject({ ok: true, replayed: false });
    clock.advance(86_400_000 * 365);
    const { enrollmentToken: _, ...receipt } = first;
    expect(await run(context, input)).toEqual({ ...receipt, replayed: true });
    expect(audit()).toHaveLength(1);
    expect(events()).toHaveLength(1);
  });

  test('contracts the same key with other input, or from another subject, is idempotency-conflict, also after expiry', async () => {
    const { run, contract, clock, input, otherInput, events } = await open();
    const context = commandContext(clock, contract);
    await run(context, input);
    clock.advance(3_600_000);
    const conflict = { ok: false, code: 'idempotency-conflict', retryable: false };
    expect(await run(context, otherInput)).toEqual(conflict);
    expect(await run({ ...context, subjectId: 'eve' }, input)).toEqual(conflict);
    if (contract.subjectKind === null) {
      expect(await run({ ...context, subjectKind: 'system' }, input)).toEqual(conflict);
    }
    expect(events()).toHaveLength(1);
  });

  test('contracts a refusal uses no key up', async () => {
    const { run, contract, clock, input } = await open();
    const context = commandContext(clock, contract, { issuedAt: at(clock, 1) });
    expect((await run(context, input)).ok).toBe(false);
    clock.advance(1);
    const again = commandContext(clock, contract);
    expect(await run(again, input)).toMatchObject({ ok: true, replayed: false });
  });

  test('contracts concurrent calls with one key do the work once', async () => {
    const { run, contract, clock, input, audit, events } = await open();
    const results = await Promise.all(Array.from({ length: 10 }, () => run(commandContext(clock, contract), input)));
    expect(results.every((result) => result.ok)).toBe(true);
    expect(results.filter((result) => result.replayed === false)).toHaveLength(1);
    expect(audit()).toHaveLength(1);
    expect(events()).toHaveLength(1);
  });

  test('contracts a call that was overtaken by one with its own key ends as the replay of that one', async () => {
    const { run, runElsewhere, contract, clock, input, otherInput, hold, audit } = await open();
    const release = hold();
    const slow = run(commandContext(clock, contract), input);
    const other = run(commandContext(clock, contract), otherInput);
    await settledPort();
    release.forNewCalls();
    const quick = await runElsewhere(commandContext(clock, contract), input);
    expect(quick).toMatchObject({ ok: true, replayed: false });
    release.forAll();
    const { enrollmentToken: _, ...receipt } = quick;
    expect(await slow).toEqual({ ...receipt, replayed: true });
    expect(await other).toEqual({ ok: false, code: 'idempotency-conflict', retryable: false });
    expect(audit().filter(({ entry }) => entry.outcome === 'succeeded')).toHaveLength(1);
  });
}

function windowTests(open: () => Promise<OpenCommand>): void {
  test.each([
    ['issued 1 ms in the future', 1, 60_000, 'invalid-input'],
    ['expiring when issued', -1000, -1000, 'invalid-input'],
    ['expiring before issued', -1000, -1001, 'invalid-input'],
    ['expired just now', -1000, 0, 'command-expired'],
    ['expired long ago', -86_400_000, -1, 'command-expired'],
  ])('contracts a command %s is refused', async (_, issuedMs, expiresMs, code) => {
    const { run, contract, clock, input, events } = await open();
    const context = commandContext(clock, contract, {
      issuedAt: at(clock, issuedMs),
      expiresAt: at(clock, expiresMs),
    });
    // A confirmation cannot be between a future issue time and now, and it is checked first.
    const wanted = contract.confirmation === 'always' && issuedMs > 0 ? 'confirmation-required' : code;
    expect(await run(context, input)).toEqual({ ok: false, code: wanted, retryable: false });
    expect(events()).toEqual([]);
  });

  test.each([
    ['issued just now', 0, 60_000],
    ['in its last millisecond', -1000, 1],
  ])('contracts a command %s is taken', async (_, issuedMs, expiresMs) => {
    const { run, contract, clock, input } = await open();
    const context = commandContext(clock, contract, {
      issuedAt: at(clock, issuedMs),
      expiresAt: at(clock, expiresMs),
    });
    expect(await run(context, input)).toMatchObject({ ok: true });
  });
}

function recordTests(open: () => Promise<OpenCommand>): void {
  test('contracts success is recorded once, with its confirmation', async () => {
    const { run, contract, clock, input, resourceId, audit, events } = await open();
    await run(commandContext(clock, contract), input);
    expect(audit()).toMatchObject([
      {
        scope: callScope,
        entry: {
          subject: { kind: contract.subjectKind ?? 'user', subjectId: 'ada' },
          action: contract.name,
          resource: { resourceId },
          outcome: 'succeeded',
          risk: contract.risk,
          confirmation: contract.confirmation === 'always' ? 'explicit' : 'not-required',
          correlationId: 'key-00000001',
        },
      },
    ]);
    expect(events()).toMatchObject([{ scope: callScope }]);
  });

  test('contracts every refusal is recorded where it belongs, an undecodable one too', async () => {
    const { run, contract, clock, input, resourceId, audit, events } = await open();
    const good = commandContext(clock, contract);
    await run({ ...good, expiresAt: at(clock, 0) }, input);
    await run({ ...good, idempotencyKey: 'short' }, input);
    await run(good, { unknown: true });
    await run(Object.defineProperty({ ...good }, 'extra', { get: () => 1, enumerable: true }), input);
    expect(audit().map(({ scope, entry }) => [scope, entry.outcome, entry.details])).toEqual([
      [callScope, 'denied', { code: 'command-expired', retryable: false }],
      [callScope, 'denied', { code: 'invalid-input', retryable: false }],
      [callScope, 'denied', { code: 'invalid-input', retryable: false }],
      [callScope, 'denied', { code: 'invalid-input', retryable: false }],
    ]);
    const [expired, unkeyed, unnamed] = audit().map(({ entry }) => entry);
    expect(expired).toMatchObject({ resource: { resourceId }, correlationId: 'key-00000001' });
    expect(unkeyed?.correlationId).toMatch(/^[A-Za-z0-9._:-]{8,128}$/);
    expect(unnamed?.resource.resourceId).toBe(`${unnamed?.resource.kind}:-`);
    expect(events()).toEqual([]);
  });

  test('contracts a context without scope or subject has no place for a record', async () => {
    const { run, contract, clock, input, audit } = await open();
    expect(await run(commandContext(clock, contract, { tenantId: '../x' }), input)).toEqual(invalid);
    expect(audit()).toEqual([]);
  });

  test.each(['throw', 'hang'] as const)('[platform §6.1] a refusal is final when its record does %s', async (kind) => {
    const { run, contract, clock, input, breakRefusals } = await open();
    breakRefusals({ kind });
    const result = run(commandContext(clock, contract, { expiresAt: at(clock, 0) }), input);
    await settledPort();
    clock.advance(5000);
    expect(await result).toMatchObject({ code: 'command-expired' });
  });

  test.each(['throw', 'hang'] as const)('contracts a lookup that does %s is storage-unavailable', async (kind) => {
    const { run, contract, clock, input, breakReceipts, audit } = await open();
    breakReceipts({ kind });
    const result = run(commandContext(clock, contract), input);
    await settledPort();
    clock.advance(5000);
    expect(await result).toEqual({ ok: false, code: 'storage-unavailable', retryable: true });
    expect(audit()).toMatchObject([{ entry: { outcome: 'failed' } }]);
  });

  test.each(['throw', 'hang'] as const)('contracts a commit that does %s may have happened: unknown', async (kind) => {
    const { run, contract, clock, input, breakCommit, audit } = await open();
    breakCommit({ kind });
    const result = run(commandContext(clock, contract), input);
    await settledPort();
    clock.advance(4999);
    await settledPort();
    clock.advance(1);
    expect(await result).toEqual({ ok: false, code: 'storage-unavailable', retryable: true });
    expect(audit()).toMatchObject([{ entry: { outcome: 'unknown' } }]);
    expect(JSON.stringify(audit())).not.toContain('hunter2');
    breakCommit(null);
    expect(await run(commandContext(clock, contract), input)).toMatchObject({ ok: true, replayed: false });
  });
}
