/** The role from the claims of a token or of a provider [identity §8]: pure. */

export const roles = ['Viewer', 'Engineer', 'Admin'] as const;
export type Role = (typeof roles)[number];

export interface RoleClaim {
  /** Member names from the outside in. */
  readonly path: readonly string[];
  /** The role of each value of the claim; null when the values are the roles themselves. */
  readonly map: ReadonlyMap<string, Role> | null;
}

/** The default claim. */
export const plainRoleClaim: RoleClaim = { path: ['role'], map: null };

/** The highest role in the claim; null without one. */
export function roleOf(claims: Readonly<Record<string, unknown>>, { path, map }: RoleClaim): Role | null {
  let found: unknown = claims;
  for (const step of path)
    found = typeof found === 'object' && found !== null && Object.hasOwn(found, step) ? Reflect.get(found, step) : null;
  // Several roles only if configured: the default claim is one word.
  const values: unknown[] = Array.isArray(found) && path !== plainRoleClaim.path ? found : [found];
  const given = values.flatMap((value) => {
    const role = map === null ? roles.find((each) => each === value) : map.get(String(value));
    return typeof value === 'string' && role !== undefined ? [role] : [];
  });
  return roles.findLast((role) => given.includes(role)) ?? null;
}
