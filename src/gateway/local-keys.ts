/**
 * The identity files of a data dir, written at its first start [identity §1]: the site's own Ed25519 signing key and its local
 * tenant and project. Both are readable by the owner only.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { newId } from '../base/id.ts';
import { readOrMake } from '../base/own-file.ts';

export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** Reads the signing key, or creates one. */
export function signingKey(dataFolder: string): SigningKey {
  const pem = readOrMake(join(dataFolder, 'signing-key.pem'), () =>
    generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  );
  try {
    const privateKey = createPrivateKey(pem);
    if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error('not an Ed25519 key');
    return { privateKey, publicKey: createPublicKey(privateKey) };
  } catch (cause) {
    throw damaged('signing-key.pem', cause);
  }
}

/** The site's tenant and project when none are configured. */
export function localScope(dataFolder: string): { tenantId: string; projectId: string } {
  const make = (): string => `${JSON.stringify({ tenantId: `tenant-${newId()}`, projectId: `project-${newId()}` })}\n`;
  const stored = scopeOf(readOrMake(join(dataFolder, 'scope.json'), make));
  const { tenantId, projectId } = Object(stored) as Record<string, unknown>;
  if (typeof tenantId !== 'string' || typeof projectId !== 'string') throw damaged('scope.json');
  return { tenantId, projectId };
}

function scopeOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw damaged('scope.json', cause);
  }
}

function damaged(name: string, cause?: unknown): Error {
  return new Error(`${name} in the data dir is damaged: restore it from a backup`, { cause });
}
