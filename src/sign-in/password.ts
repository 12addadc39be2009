/** Passwords of local accounts [identity §7.2]: scrypt, each with a salt of its own. */
import { scrypt, timingSafeEqual } from 'node:crypto';
import { passwordLengthMax, passwordLengthMin } from '../api/session.ts';
import { Fault } from '../base/fault.ts';
import { newSecret } from '../base/id.ts';
import type { StoredPassword } from './store/sign-in-store.ts';

/** Stored for an account that has no password. */
const noSalt = 'none';
const hashBytes = 32;
/** 32 MiB and about a tenth of a second for each attempt. */
const cost = { N: 32_768, r: 8, p: 1, maxmem: 67_108_864 };

export async function storedPassword(text: string): Promise<StoredPassword> {
  const { length } = text;
  if (length < passwordLengthMin || length > passwordLengthMax)
    throw new Fault(
      'invalid-input',
      `body /password: must have ${passwordLengthMin} to ${passwordLengthMax} characters`,
    );
  const salt = newSecret();
  return { salt, hash: (await hashOf(text, salt)).toString('base64') };
}

/** Takes equally long for an account without a password and for a wrong password. */
export async function isPassword(text: string, stored: StoredPassword | null): Promise<boolean> {
  const hash = await hashOf(text, stored?.salt ?? noSalt);
  return stored !== null && timingSafeEqual(hash, Buffer.from(stored.hash, 'base64'));
}

function hashOf(text: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Strings that look the same are the same password.
    scrypt(text.normalize('NFKC'), salt, hashBytes, cost, (error, hash) =>
      error === null ? resolve(hash) : reject(error),
    );
  });
}
