/** What every store of gateways must do [platform §6.4]: replaced only with the expected revision, atomically. */
import { describe, expect, test } from 'vitest';
import type { Scope } from '../call-context.ts';
import { contractScope, journalContract, journalFor, type OpenJournal } from '../journal-port-contract.ts';
import { awaitingClaim, claimed, type Gateway, type GatewayView, registered, viewOf } from './gateway.ts';
import type { Gateways } from './ports.ts';

export interface OpenGateways extends Omit<OpenJournal<GatewayView, GatewayView>, 'refusals' | 'receipt' | 'commit'> {
  readonly gateways: Gateways;
}

const gatewayId = '0190c0de-0000-7000-8000-000000000001';
const claim = { claimId: 'claim-001', issuedAtMs: 1_700_000_000_000, expiresAtMs: 1_700_000_060_000 };
const tokenDigest = 'e'.repeat(64);

function journal(gateway: Gateway, key: string, scope: Scope = contractScope) {
  return journalFor(viewOf(gateway), viewOf(gateway), { key, scope });
}

export function gatewaysContract(name: string, open: () => Promise<OpenGateways>): void {
  describe(`gateways: ${name}`, () => {
    const one = registered(contractScope, gatewayId, 'Roof');
    const two = awaitingClaim(one, claim, tokenDigest);

    let unique = 0;
    journalContract<GatewayView, GatewayView>(
      async () => {
        const store = await open();
        return {
          ...store,
          refusals: store.gateways,
          receipt: (scope, key) => store.gateways.findReceipt(scope, key),
          async commit(entry) {
            // A gateway of its own for each, so that only the key can stand in the way.
            const id = `0190c0de-0000-7000-8000-${String(++unique).padStart(12, '1')}`;
            return (
              (await store.gateways.commit(null, registered(entry.receipt.scope, id, 'Roof'), entry)) === 'committed'
            );
          },
        };
      },
      () => ({ result: viewOf(one), data: viewOf(one) }),
    );

    test('[platform §6.4] a gateway passes through its three states unchanged', async () => {
      const { gateways } = await open();
      const states = [one, two, two.state === 'awaiting-claim' ? claimed(two, 'f'.repeat(64), 1_700_000_030_000) : two];
      for (const [index, gateway] of states.entries()) {
        const expected = index === 0 ? null : index;
        expect(await gateways.commit(expected, gateway, journal(gateway, `key-0000000${index}`))).toBe('committed');
        expect(await gateways.find(contractScope, gatewayId)).toEqual(gateway);
      }
    });

    test('[platform §6.4] another revision than expected stores nothing at all', async () => {
      const { gateways, audit, events } = await open();
      await gateways.commit(null, one, journal(one, 'key-00000001'));
      for (const expected of [null, 0, 2]) {
        expect(await gateways.commit(expected, two, journal(two, 'key-00000002'))).toBe('revision-mismatch');
      }
      expect(await gateways.find(contractScope, gatewayId)).toEqual(one);
      expect(await gateways.findReceipt(contractScope, 'key-00000002')).toBeNull();
      expect(await audit()).toHaveLength(1);
      expect(await events()).toHaveLength(1);
    });

    test('[platform §6.4] a change of a gateway that is not there stores nothing', async () => {
      const { gateways, audit } = await open();
      expect(await gateways.commit(1, two, journal(two, 'key-00000001'))).toBe('revision-mismatch');
      expect(await gateways.find(contractScope, gatewayId)).toBeNull();
      expect(await audit()).toEqual([]);
    });

    test('[platform §6.4] a used key is told before a wrong revision, so that a lost race ends as a replay', async () => {
      const { gateways } = await open();
      await gateways.commit(null, one, journal(one, 'key-00000001'));
      expect(await gateways.commit(null, one, journal(one, 'key-00000001'))).toBe('key-used');
    });

    test('[platform §6.4] of concurrent changes from one revision one is stored', async () => {
      const { gateways } = await open();
      await gateways.commit(null, one, journal(one, 'key-00000001'));
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, index) => gateways.commit(1, two, journal(two, `key-concurrent-${index}`))),
      );
      expect(outcomes.filter((outcome) => outcome === 'committed')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'revision-mismatch')).toHaveLength(19);
    });

    test('[platform §6.4] the same id in another scope is another gateway', async () => {
      const { gateways } = await open();
      const other = { ...contractScope, tenantId: 'tenant-2' };
      await gateways.commit(null, one, journal(one, 'key-00000001'));
      expect(await gateways.find(other, gatewayId)).toBeNull();
      expect(await gateways.find({ ...contractScope, projectId: 'project-2' }, gatewayId)).toBeNull();
      const theirs = registered(other, gatewayId, 'Cellar');
      expect(await gateways.commit(null, theirs, journal(theirs, 'key-00000001', other))).toBe('committed');
      expect(await gateways.find(contractScope, gatewayId)).toEqual(one);
    });
  });
}
