/** What every store of cloud connections must do [platform §6.2]. */
import { describe, expect, test } from 'vitest';
import type { CloudConnection, CloudConnections } from './ports.ts';

export interface OpenConnections {
  readonly connections: CloudConnections;
  /** Puts a row into the store; refuses what is not a connection. */
  save(connection: CloudConnection): Promise<void>;
}

const row: CloudConnection = {
  tenantId: 'tenant-1',
  projectId: 'project-1',
  connectionId: 'connection-1',
  providerId: 'provider-a',
  enabled: true,
  credentialReference: 'secret://vault/cloud/provider-a',
};
const scope = { tenantId: row.tenantId, projectId: row.projectId };

export function cloudConnectionsContract(name: string, open: () => Promise<OpenConnections>): void {
  describe(`cloud connections: ${name}`, () => {
    test('[platform §6.2] a row is found by its scope and id', async () => {
      const { connections, save } = await open();
      await save(row);
      expect(await connections.find(scope, 'connection-1')).toEqual(row);
    });

    test('[platform §6.2] a row of another scope is none, exactly like no row', async () => {
      const { connections, save } = await open();
      await save(row);
      expect(await connections.find({ ...scope, tenantId: 'tenant-2' }, 'connection-1')).toBeNull();
      expect(await connections.find({ ...scope, projectId: 'project-2' }, 'connection-1')).toBeNull();
      expect(await connections.find(scope, 'connection-2')).toBeNull();
    });

    test('[platform §6.2] ids that only look joined alike are different rows', async () => {
      const { connections, save } = await open();
      await save({ ...row, tenantId: 'a:b', projectId: 'c' });
      expect(await connections.find({ tenantId: 'a', projectId: 'b:c' }, 'connection-1')).toBeNull();
    });

    test.each([
      'AKIAIOSFODNN7EXAMPLE',
      '-----BEGIN PRIVATE KEY-----',
      'https://user:password@vault/secret',
      'secret://user:password@vault/key',
      'secret://vault/key?token=abc',
      'secret://vault/../other',
      'secret://',
      'SECRET://vault/key',
      ' secret://vault/key',
      'secret://vault/key\n',
      '{"key":"value"}',
      '',
    ])('[platform §6.2] a connection holds only references: %j is refused', async (credentialReference) => {
      const { connections, save } = await open();
      await expect(save({ ...row, credentialReference })).rejects.toThrow();
      expect(await connections.find(scope, 'connection-1')).toBeNull();
    });

    test.each(['secret://vault/cloud/provider-a', 'workload-identity://pool/provider', 'secret://vault/cloud#key'])(
      '[platform §6.2] the reference %j is taken',
      async (credentialReference) => {
        const { connections, save } = await open();
        await save({ ...row, credentialReference });
        expect(await connections.find(scope, 'connection-1')).toMatchObject({ credentialReference });
      },
    );
  });
}
