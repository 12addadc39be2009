/** Subject and role from the claims of a token or of a provider [identity §8]: pure. */

export const roles = ['Viewer', 'Engineer', 'Admin'] as const;
export type Role = (typeof roles)[number];

export interface RoleClaim {
  /** Member names from the outside in. */
  readonly path: readonly string[];
  /** The role of each value of the claim; null when the values are the roles themselves. */
  readonly map: ReadonlyMap<string, Role> | null;
}

/** Where the claims have the subject and the role. */
export interface IdentityClaims {
  /** Member names from the outside in. */
  readonly subject: readonly string[];
  readonly role: RoleClaim;
}

/** The default claim. */
export const plainRoleClaim: RoleClaim = { path: ['role'], map: null };
/** Of tokens that the service issues, and the default for others. */
export const plainClaims: IdentityClaims = { subject: ['sub'], role: plainRoleClaim };

type Claims = Readonly<Record<string, unknown>>;

const subjectLengthMax = 128;

/** Null without one that fits into an audit record. */
export function subjectIn(claims: Claims, path: readonly string[]): string | null {
  const found = memberAt(claims, path);
  return isSubject(found) ? found : null;
}

function isSubject(found: unknown): found is string {
  const isText = typeof found === 'string' && found.isWellFormed() && !found.includes('\0');
  return isText && found.length >= 1 && found.length <= subjectLengthMax;
}

/** The highest role in the claim; null without one. */
export function roleOf(claims: Claims, { path, map }: RoleClaim): Role | null {
  const found = memberAt(claims, path);
  // Several roles only if configured: the default claim is one word.
  const values: unknown[] = Array.isArray(found) && path !== plainRoleClaim.path ? found : [found];
  const given = values.flatMap((value) => {
    const role = map === null ? roles.find((each) => each === value) : map.get(String(value));
    return typeof value === 'string' && role !== undefined ? [role] : [];
  });
  return roles.findLast((role) => given.includes(role)) ?? null;
}

function memberAt(claims: Claims, path: readonly string[]): unknown {
  let found: unknown = claims;
  for (const step of path)
    found = typeof found === 'object' && found !== null && Object.hasOwn(found, step) ? Reflect.get(found, step) : null;
  return found;
}
