import { describe, expect, test } from 'vitest';
import { operations } from '../api/operations.ts';
import { checkSameOrigin, cookieHeader, cookieOf } from './session-cookie.ts';

const request = (headers: Readonly<Record<string, string>>) => ({ header: (name: string) => headers[name] });
const local = request({ host: '127.0.0.1:8080' });
const away = request({ host: 'plant.example' });

describe('[identity §7.1] the cookie of a session', () => {
  test('elsewhere than on loopback it is Secure and bound to the host', () => {
    expect(cookieHeader(away, 'v', 60)).toBe(
      '__Host-setpoint-session=v; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Strict',
    );
    for (const host of ['127.0.0.1:8080', 'localhost', '[::1]:1', '127.0.0.9'])
      expect(cookieHeader(request({ host }), 'v', 60)).toBe(
        'setpoint-session=v; Max-Age=60; Path=/; HttpOnly; SameSite=Strict',
      );
    for (const proxied of ['x-forwarded-for', 'forwarded', 'via'])
      expect(cookieHeader(request({ host: '127.0.0.1', [proxied]: 'x' }), 'v', 60)).toContain('__Host-');
    for (const host of ['127.0.0.1.example', 'localhost.example', ''])
      expect(cookieHeader(request({ host }), 'v', 60)).toContain('Secure');
  });

  test('the cookie of a sign-in with a provider is sent when the browser is redirected back', () => {
    expect(cookieHeader(away, 'v', 60, 'sign-in')).toContain('SameSite=Lax');
  });

  test('one that is not bound to the host counts on loopback alone', () => {
    expect(cookieOf(request({ host: 'plant.example', cookie: 'setpoint-session=v' }))).toBeNull();
    expect(cookieOf(request({ host: 'plant.example', cookie: 'a=1; __Host-setpoint-session=v' }))).toBe('v');
    expect(cookieOf(request({ host: 'localhost', cookie: 'setpoint-session=v; b=2' }))).toBe('v');
    expect([cookieOf(local), cookieOf(request({ host: 'localhost', cookie: 'setpoint-session=' }))]).toEqual([
      null,
      null,
    ]);
  });

  test('origin headers of a browser', () => {
    const comes = (headers: Readonly<Record<string, string>>): boolean => {
      try {
        checkSameOrigin(request({ host: 'plant.example', ...headers }));
        return true;
      } catch {
        return false;
      }
    };
    expect(comes({ 'sec-fetch-site': 'same-origin' })).toBe(true);
    // Behind a proxy that asks for another host.
    expect(comes({ 'sec-fetch-site': 'same-origin', origin: 'https://setpoint.example', host: '127.0.0.1' })).toBe(
      true,
    );
    expect(comes({ origin: 'https://plant.example' })).toBe(true);
    for (const headers of [
      {},
      { origin: 'null' },
      { origin: 'https://plant.example.evil' },
      { origin: 'https://evil/plant.example' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'cross-site', origin: 'https://plant.example' },
    ])
      expect(comes(headers), JSON.stringify(headers)).toBe(false);
  });

  test('every change behind authentication is confirmed by a header that no page of another site can send', () => {
    const changes = operations.filter(({ kind, permission }) => kind === 'command' && permission !== null);
    expect(changes.length).toBeGreaterThan(15);
    expect(changes.filter(({ confirmation }) => confirmation !== 'always').map(({ name }) => name)).toEqual([]);
  });
});
