import { describe, expect, test } from 'vitest';
import { roleClaimOf } from './identity-config.ts';
import { plainRoleClaim, roleOf } from './roles.ts';

describe('[identity §8] the role of a claim', () => {
  test('a name or a pointer; one value or several; the highest that is mapped', () => {
    const map = 'Viewer=everybody,Engineer=site-engineers,Admin=site-admins,Engineer=contractors';
    const claim = roleClaimOf('/realm_access/roles', map);
    const role = (roles: unknown) => roleOf({ realm_access: { roles } }, claim);
    expect(role(['everybody', 'site-engineers'])).toBe('Engineer');
    expect(role(['site-admins', 'everybody'])).toBe('Admin');
    expect(role('contractors')).toBe('Engineer');
    for (const none of [[], ['Admin'], 'Admin', null, 5, [5], {}, ['toString']]) expect(role(none)).toBeNull();
    expect(roleOf({ groups: ['site-admins'] }, roleClaimOf('groups', map))).toBe('Admin');
    expect(roleOf({ 'https://a/b': 'everybody' }, roleClaimOf('/https:~1~1a~1b', map))).toBe('Viewer');
  });

  test('with a configured claim the claim `role` does not count; without a map its values are the roles', () => {
    const claim = roleClaimOf('groups', '');
    expect(roleOf({ role: 'Admin' }, claim)).toBeNull();
    expect(roleOf({ role: 'Admin', groups: ['Viewer', 'Engineer'] }, claim)).toBe('Engineer');
  });

  test('the plain claim is one exact word', () => {
    expect(roleOf({ role: 'Engineer' }, plainRoleClaim)).toBe('Engineer');
    for (const role of ['admin', ['Admin'], undefined, '']) expect(roleOf({ role }, plainRoleClaim)).toBeNull();
  });

  test.each([
    ['', 'Engineer=a', 'SVC_JWT_ROLE_CLAIM'],
    ['groups', 'Owner=a', 'SVC_JWT_ROLE_MAP'],
    ['groups', 'Engineer', 'SVC_JWT_ROLE_MAP'],
    ['groups', 'Engineer=', 'SVC_JWT_ROLE_MAP'],
    ['groups', 'Engineer=a,,', 'SVC_JWT_ROLE_MAP'],
  ])('claim %j with map %j stops the start', (claim, map, named) => {
    expect(() => roleClaimOf(claim, map)).toThrow(named);
  });
});
