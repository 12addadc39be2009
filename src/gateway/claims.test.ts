import { describe, expect, test } from 'vitest';
import { plainClaims, plainRoleClaim, roleOf, subjectIn } from './claims.ts';
import { identityConfig, roleClaimOf } from './identity-config.ts';

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

describe('[identity §8] the subject of a claim', () => {
  const pathOf = (claim: string) => identityConfig({ SVC_JWT_SUBJECT_CLAIM: claim }).claims.subject;

  test('`sub`, or another claim by name or pointer', () => {
    const claims = { sub: 'f81d4fae', preferred_username: 'ada', name: { full: 'Ada L.' } };
    expect(subjectIn(claims, plainClaims.subject)).toBe('f81d4fae');
    expect(subjectIn(claims, pathOf(''))).toBe('f81d4fae');
    expect(subjectIn(claims, pathOf('preferred_username'))).toBe('ada');
    expect(subjectIn(claims, pathOf('/name/full'))).toBe('Ada L.');
    for (const claim of ['email', '/name', '/name/full/length', 'toString'])
      expect(subjectIn(claims, pathOf(claim))).toBeNull();
  });

  test('must fit into an audit record: 1 to 128 characters', () => {
    for (const sub of ['a', 'a'.repeat(128), 'ada@example.org']) expect(subjectIn({ sub }, ['sub'])).toBe(sub);
    for (const sub of ['', 'a'.repeat(129), 'a\0b', '\ud800', 7, null, ['ada']])
      expect(subjectIn({ sub }, ['sub'])).toBeNull();
  });

  test('warns of claim settings that apply to no token', () => {
    const warningsWith = (env: Record<string, string>) => identityConfig(env).warnings;
    const provider = { SVC_OIDC_ISSUER: 'https://id.example', SVC_OIDC_CLIENT_ID: 'setpoint' };
    for (const claim of [{ SVC_JWT_SUBJECT_CLAIM: 'email' }, { SVC_JWT_ROLE_CLAIM: 'groups' }]) {
      expect(warningsWith(claim)).toEqual([expect.stringContaining('have no effect')]);
      expect(warningsWith({ ...claim, ...provider })).toEqual([]);
      expect(warningsWith({ ...claim, SVC_JWT_SECRET: 'x'.repeat(32) })).toEqual([]);
    }
  });
});
