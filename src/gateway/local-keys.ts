/**
 * What first start writes to the data dir for identity (decisions §1.1): the site's own Ed25519 signing key and its
 * local tenant and project. Both are readable by the owner only.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '../base/id.ts';

export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const ownerOnly = 0o600;

/** Reads the signing key, or makes one. */
export function signingKey(dataFolder: string): SigningKey {
  const file = join(dataFolder, 'signing-key.pem');
  const pem = readOrMake(file, () =>
    generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  );
  const privateKey = createPrivateKey(pem);
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** The site's tenant and project when none are configured. */
export function localScope(dataFolder: string): { tenantId: string; projectId: string } {
  const make = (): string => `${JSON.stringify({ tenantId: `tenant-${newId()}`, projectId: `project-${newId()}` })}\n`;
  const stored: unknown = JSON.parse(readOrMake(join(dataFolder, 'scope.json'), make));
  const { tenantId, projectId } = Object(stored) as Record<string, unknown>;
  if (typeof tenantId !== 'string' || typeof projectId !== 'string')
    throw new Error('scope.json in the data dir is damaged: restore it from a backup');
  return { tenantId, projectId };
}

/** `wx`: of two starts at once, one writes and both read the same. */
function readOrMake(file: string, make: () => string): string {
  if (!existsSync(file)) {
    try {
      writeFileSync(file, make(), { mode: ownerOnly, flag: 'wx' });
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
  return readFileSync(file, 'utf8');
}
