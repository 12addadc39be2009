/**
 * The claims of a token [identity §1], read without verification: the server decides what it may do; the page only shows the
 * subject and hides actions that would be refused.
 */

export type TokenRole = 'Admin' | 'Engineer' | 'Viewer';

export interface TokenFacts {
  readonly subject: string;
  /** Null for a token that is not a JWT: it opens the audit log only. */
  readonly role: TokenRole | null;
  readonly expiresAtMs: number | null;
  /** Signed in with the password of an account of this site. */
  readonly isAccount?: boolean;
}

/** Facts of a JWT; of any other text, that it is opaque. */
export function tokenFacts(token: string): TokenFacts {
  const claims = claimsOf(token);
  if (claims === null) return { subject: '', role: null, expiresAtMs: null };
  const { sub, role, exp } = claims;
  return {
    subject: typeof sub === 'string' ? sub : '',
    role: role === 'Admin' || role === 'Engineer' || role === 'Viewer' ? role : null,
    expiresAtMs: typeof exp === 'number' && Number.isFinite(exp) ? exp * 1000 : null,
  };
}

interface Claims {
  readonly sub?: unknown;
  readonly role?: unknown;
  readonly exp?: unknown;
}

function claimsOf(token: string): Claims | null {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return null;
  try {
    const text = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(text, (character) => character.codePointAt(0) ?? 0);
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}

/** Whether the role may change and run rules [identity §4]. */
export function mayManage(role: TokenRole | null): boolean {
  return role === 'Admin' || role === 'Engineer';
}

/** Whether the audit log opens: an Admin, or a token that is for the audit log. */
export function mayAudit(role: TokenRole | null): boolean {
  return role === 'Admin' || role === null;
}

/** Whether anything but the audit log opens: not with a token for it alone. */
export function mayRead(role: TokenRole | null): boolean {
  return role !== null;
}

/** Whether a page of the navigation opens. */
export function mayOpen(page: string, role: TokenRole | null): boolean {
  return page === 'audit' ? mayAudit(role) : mayRead(role);
}
