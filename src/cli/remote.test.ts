/** The address of the service that commands call and links name [platform §7]. */
import { describe, expect, test } from 'vitest';
import { baseUrlIn } from './remote.ts';

describe('[platform §7] the address of the service', () => {
  test.each([
    [{}, 'http://127.0.0.1:8080'],
    [{ SVC_HTTP_PORT: '9000' }, 'http://127.0.0.1:9000'],
    [{ SVC_HTTP_HOST: '0.0.0.0', SVC_HTTP_PORT: '9000' }, 'http://127.0.0.1:9000'],
    [{ SVC_HTTP_HOST: '::' }, 'http://127.0.0.1:8080'],
    [{ SVC_HTTP_HOST: '192.168.1.5' }, 'http://192.168.1.5:8080'],
    [{ SVC_HTTP_HOST: '::1', SVC_HTTP_PORT: '9000' }, 'http://[::1]:9000'],
    [{ SVC_BASE_URL: 'https://setpoint.example.com/', SVC_HTTP_PORT: '9000' }, 'https://setpoint.example.com'],
    [{ SVC_BASE_URL: '', SVC_HTTP_PORT: '' }, 'http://127.0.0.1:8080'],
  ])('with %j it is %s', (env, address) => {
    expect(baseUrlIn(env)).toBe(address);
  });

  test.each(['localhost:8080', 'ftp://a', 'http://a?b', 'http://a#b', 'http://me:secret@a', 'nonsense'])(
    'SVC_BASE_URL=%s is refused',
    (text) => {
      expect(() => baseUrlIn({ SVC_BASE_URL: text })).toThrow(/^SVC_BASE_URL must be the address of the service/);
    },
  );

  test('a port that is none is refused by its own name', () => {
    expect(() => baseUrlIn({ SVC_HTTP_PORT: 'http' })).toThrow(/^SVC_HTTP_HOST and SVC_HTTP_PORT give no address/);
  });
});
