import { describe, expect, test } from 'vitest';
import { mayAudit, mayManage, mayOpen, tokenFacts } from './token.ts';

const jwt = (claims: object): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;

describe('[identity §1] claims of a token', () => {
  test('subject, role and end of a JWT, names in any script', () => {
    expect(tokenFacts(jwt({ sub: 'Žofie', role: 'Engineer', exp: 1_800_000_000 }))).toEqual({
      subject: 'Žofie',
      role: 'Engineer',
      expiresAtMs: 1_800_000_000_000,
    });
  });

  test.each(['opaque-token-of-the-audit-log', 'a.b.c', '', 'e30.bm90IGpzb24.c2ln'])('%j is opaque', (token) => {
    expect(tokenFacts(token)).toEqual({ subject: '', role: null, expiresAtMs: null });
  });

  test('roles are exact', () => {
    expect(tokenFacts(jwt({ role: 'admin' })).role).toBeNull();
    expect([mayManage('Admin'), mayManage('Engineer'), mayManage('Viewer'), mayManage(null)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect([mayAudit('Admin'), mayAudit('Engineer'), mayAudit(null)]).toEqual([true, false, true]);
    expect([mayOpen('rules', 'Viewer'), mayOpen('audit', 'Viewer'), mayOpen('rules', null)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
