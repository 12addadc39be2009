/**
 * What every store of a command must do with receipt, audit event and outgoing event: all with the change, or nothing.
 * The stores' own suites run this one with a change of theirs.
 */
import { expect, test } from 'vitest';
import type { AuditEntry } from '../audit/event.ts';
import type { Scope } from './call-context.ts';
import type { Journal, OutgoingEvent, Receipt, RefusalRecord } from './journal.ts';

/** A store with what it holds, as its implementation reads it back. */
export interface OpenJournal<Result, Data> {
  readonly refusals: RefusalRecord;
  receipt(scope: Scope, idempotencyKey: string): Promise<Receipt<Result> | null>;
  /** Stores a fresh change with this journal; whether it was stored. */
  commit(journal: Journal<Result, Data>): Promise<boolean>;
  audit(): Promise<readonly { readonly scope: Scope; readonly entry: AuditEntry }[]>;
  events(): Promise<readonly OutgoingEvent<Data>[]>;
}

export const contractScope: Scope = { tenantId: 'tenant-1', projectId: 'project-1' };

export function journalFor<Result, Data>(
  result: Result,
  data: Data,
  { key = 'key-00000001', scope = contractScope }: { readonly key?: string; readonly scope?: Scope } = {},
): Journal<Result, Data> {
  const subject = { kind: 'user', subjectId: 'ada' } as const;
  return {
    receipt: { scope, idempotencyKey: key, subject, requestDigest: 'a'.repeat(64), result },
    audit: {
      subject,
      action: 'some.command',
      resource: { kind: 'thing', resourceId: 'thing:one' },
      outcome: 'succeeded',
      risk: 'low',
      confirmation: 'not-required',
      correlationId: key,
      details: { note: 'one' },
    },
    event: { eventId: `event-of-${key}`, type: 'some.thing', scope, occurredAt: '2026-01-01T00:00:00.000Z', data },
  };
}

/** To be called inside the `describe` of a store's suite. */
export function journalContract<Result, Data>(
  open: () => Promise<OpenJournal<Result, Data>>,
  sample: () => { readonly result: Result; readonly data: Data },
): void {
  const fresh = (options: Parameters<typeof journalFor>[2] = {}): Journal<Result, Data> => {
    const { result, data } = sample();
    return journalFor(result, data, options);
  };

  test('[platform §6.4] receipt, audit event and outgoing event are stored together', async () => {
    const store = await open();
    const journal = fresh();
    expect(await store.receipt(contractScope, 'key-00000001')).toBeNull();
    expect(await store.commit(journal)).toBe(true);
    expect(await store.receipt(contractScope, 'key-00000001')).toEqual(journal.receipt);
    expect(await store.audit()).toEqual([{ scope: contractScope, entry: journal.audit }]);
    expect(await store.events()).toEqual([journal.event]);
  });

  test('[platform §6.4] a key that is used stores nothing, and the first receipt stays', async () => {
    const store = await open();
    const first = fresh();
    await store.commit(first);
    const second = fresh();
    expect(await store.commit({ ...second, receipt: { ...second.receipt, requestDigest: 'b'.repeat(64) } })).toBe(
      false,
    );
    expect(await store.receipt(contractScope, 'key-00000001')).toEqual(first.receipt);
    expect(await store.audit()).toHaveLength(1);
    expect(await store.events()).toHaveLength(1);
  });

  test('[platform §6.4] of many concurrent commits with one key one is stored', async () => {
    const store = await open();
    const stored = await Promise.all(Array.from({ length: 20 }, () => store.commit(fresh())));
    expect(stored.filter(Boolean)).toHaveLength(1);
    expect(await store.audit()).toHaveLength(1);
    expect(await store.events()).toHaveLength(1);
  });

  test('contracts a receipt of another scope is none', async () => {
    const store = await open();
    await store.commit(fresh());
    expect(await store.receipt({ ...contractScope, tenantId: 'tenant-2' }, 'key-00000001')).toBeNull();
    expect(await store.receipt({ ...contractScope, projectId: 'project-2' }, 'key-00000001')).toBeNull();
    expect(await store.receipt(contractScope, 'key-00000002')).toBeNull();
    expect(await store.commit(fresh({ scope: { tenantId: 'tenant-2', projectId: 'project-1' } }))).toBe(true);
  });

  test('contracts a change of what was handed in, or handed out, does not reach the store', async () => {
    const store = await open();
    const journal = structuredClone(fresh());
    const wanted = structuredClone(journal);
    await store.commit(journal);
    Object.assign(journal.receipt, { requestDigest: 'c'.repeat(64) });
    Object.assign(journal.audit, { outcome: 'failed' });
    const handedOut = await store.receipt(contractScope, 'key-00000001');
    expect(handedOut).toEqual(wanted.receipt);
    try {
      Object.assign(handedOut ?? {}, { requestDigest: 'd'.repeat(64) });
    } catch {
      // Frozen is as good as copied.
    }
    expect(await store.receipt(contractScope, 'key-00000001')).toEqual(wanted.receipt);
    expect((await store.audit())[0]?.entry).toEqual(wanted.audit);
  });

  test('contracts a refusal is recorded in its scope and leaves no receipt and no outgoing event', async () => {
    const store = await open();
    const entry: AuditEntry = { ...fresh().audit, outcome: 'denied', details: { code: 'permission-denied' } };
    await store.refusals.recordRefusal(contractScope, entry);
    expect(await store.audit()).toEqual([{ scope: contractScope, entry }]);
    expect(await store.events()).toEqual([]);
    expect(await store.receipt(contractScope, 'key-00000001')).toBeNull();
  });
}
