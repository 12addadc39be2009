/** Secrets that are shown once [identity §2]: only their digests are stored. */
import { createHash } from 'node:crypto';
import { newSecret } from '../base/id.ts';
import type { SignInStore } from './store/sign-in-store.ts';

/** How long the code of a sign-in link is valid. */
export const signInCodeMs = 600_000;
/** The same for a link that sets a password: its owner may first have to be told of it. */
export const passwordCodeMs = 86_400_000;

export function secretDigest(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

/** A fresh code, which replaces the one before it. Without a name it signs in; with a name it sets that account's password. */
export async function issueCode(
  store: Pick<SignInStore, 'putCode'>,
  name: string | null,
  nowMs: number,
): Promise<string> {
  const code = newSecret();
  await store.putCode(secretDigest(code), name, nowMs + (name === null ? signInCodeMs : passwordCodeMs));
  return code;
}

/** What a code is for; undefined if it is unknown, used or expired, or if the clock was set back since it was issued. */
export async function codeFor(
  store: Pick<SignInStore, 'code'>,
  code: string,
  nowMs: number,
): Promise<{ readonly name: string | null } | undefined> {
  const found = await store.code(secretDigest(code));
  if (found === undefined) return undefined;
  const leftMs = found.expiresMs - nowMs;
  return leftMs > 0 && leftMs <= (found.name === null ? signInCodeMs : passwordCodeMs) ? found : undefined;
}
