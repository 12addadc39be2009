/** What every provider adapter must do [platform §6.2]. */
import { describe, expect, test } from 'vitest';
import { judgeAnswer } from './observation.ts';
import type { ProviderAdapter, RegionRequest } from './ports.ts';

const request: RegionRequest = {
  tenantId: 'tenant-1',
  projectId: 'project-1',
  connectionId: 'connection-1',
  credentialReference: 'secret://vault/cloud/provider-a',
};

/** `open` gives an adapter whose provider answers for `request`. */
export function providerAdapterContract(name: string, open: () => Promise<ProviderAdapter>): void {
  describe(`provider adapter: ${name}`, () => {
    test('[platform §6.2] the observation passes every check', async () => {
      const adapter = await open();
      const answer = await adapter.discoverRegions(request, new AbortController().signal);
      const connection = { ...request, providerId: adapter.providerId, enabled: true };
      expect(judgeAnswer(answer, connection, adapter, 1000)).toMatchObject({ ok: true, connectionId: 'connection-1' });
    });

    test('[platform §6.2] after an abort nothing is presented as an observation', async () => {
      const adapter = await open();
      const answer = await adapter.discoverRegions(request, AbortSignal.abort()).catch(() => null);
      expect(answer?.ok ?? false).toBe(false);
    });

    test('[platform §6.2] neither answer nor adapter shows the credential reference', async () => {
      const adapter = await open();
      const answer = await adapter.discoverRegions(request, new AbortController().signal);
      expect(JSON.stringify([answer, adapter])).not.toContain('secret://');
    });
  });
}
