/** [processor §6.4] The token that a route's `bearer_token_env` names, checked before anything is sent. */
import { describe, expect, test } from 'vitest';
import { readBearer } from './bearer.ts';

describe('[processor §6.4] the token of a processor comes from the environment variable that its route names', () => {
  test('no variable: no token is sent; a variable with a value: its value', () => {
    expect(readBearer(null, 'remote', {})).toEqual({ ok: true, token: null, missing: false });
    expect(readBearer('TOKEN', 'remote', { TOKEN: 'abc.DEF-1~+/=' })).toEqual({
      ok: true,
      token: 'abc.DEF-1~+/=',
      missing: false,
    });
  });

  test('named and not set: the token of a local processor is optional, a remote one is not called without', () => {
    for (const env of [{}, { TOKEN: '' }]) {
      expect(readBearer('TOKEN', 'local', env)).toEqual({ ok: true, token: null, missing: true });
      expect(readBearer('TOKEN', 'remote', env)).toEqual({
        ok: false,
        reason: 'TOKEN is not set, and a remote processor is not called without the token that its route names',
      });
    }
  });

  test('a value that is invalid in a header is refused and not repeated', () => {
    for (const value of ['abc\ndef', 'abc def', ' abc', 'tökén', 'a'.repeat(8193)])
      expect(readBearer('TOKEN', 'local', { TOKEN: value })).toEqual({
        ok: false,
        reason: 'TOKEN is not a bearer token: 1 to 8192 visible ASCII characters, without spaces',
      });
    expect(readBearer('TOKEN', 'local', { TOKEN: 'a'.repeat(8192) }).ok).toBe(true);
  });
});
