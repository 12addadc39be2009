/**
 * Encrypts a provider's refresh token with the session's cookie, which is stored only in the browser: the database alone does not
 * reveal the token.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto';
import { newSecret } from '../base/id.ts';

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

function keyOf(cookie: string): Buffer {
  return Buffer.from(hkdfSync('sha256', cookie, '', 'setpoint session', keyBytes));
}

export function seal(text: string, cookie: string): string {
  const nonce = createHash('sha256').update(newSecret()).digest().subarray(0, nonceBytes);
  const cipher = createCipheriv(algorithm, keyOf(cookie), nonce);
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** Null for a text that was not sealed with this cookie. */
export function unseal(sealed: string, cookie: string): string | null {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < nonceBytes + tagBytes) return null;
  const decipher = createDecipheriv(algorithm, keyOf(cookie), bytes.subarray(0, nonceBytes));
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]);
    return text.toString('utf8');
  } catch {
    return null;
  }
}
