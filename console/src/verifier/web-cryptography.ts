/** Hashes and signatures as a browser has them. */
import type { Cryptography } from '../../../src/transparency/hashing.ts';

const own = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

export const webCryptography: Cryptography = {
  sha256: async (bytes) => new Uint8Array(await crypto.subtle.digest('SHA-256', own(bytes))),
  async verifyEd25519(publicKey, signed, signature) {
    const key = await crypto.subtle.importKey('raw', own(publicKey), 'Ed25519', false, ['verify']);
    return crypto.subtle.verify('Ed25519', key, own(signature), own(signed));
  },
};
