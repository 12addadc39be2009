/** The grouping of client addresses, and the recognition of proxies [identity §6]. */
import { describe, expect, test } from 'vitest';
import { addressKey, isLoopback, proxyCheck } from './client-address.ts';

describe('[identity §6] address limits', () => {
  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::10.0.0.1', '64:ff9b:0:0::/64'],
  ])('%s counts as %s', (address, key) => expect(addressKey(address)).toBe(key));

  test('addresses of one /64 are one, of two are two', () => {
    expect(addressKey('2001:db8:1:2:aaaa::1')).toBe(addressKey('2001:db8:1:2:bbbb::2'));
    expect(addressKey('2001:db8:1:3::1')).not.toBe(addressKey('2001:db8:1:2::1'));
  });

  test('loopback in every spelling', () => {
    expect(['127.0.0.1', '127.9.9.9', '::ffff:127.0.0.1', '::1'].map(isLoopback)).toEqual([true, true, true, true]);
    expect(['10.0.0.1', '::2', '1127.0.0.1'].map(isLoopback)).toEqual([false, false, false]);
  });

  test('trusted proxies by address, by subnet and by name', () => {
    const isProxy = proxyCheck(['10.0.0.5', '192.168.1.0/24', 'loopback', '2001:db8::/32']);
    const yes = ['10.0.0.5', '::ffff:10.0.0.5', '192.168.1.77', '127.0.0.1', '::1', '2001:db8:9::1'];
    expect(yes.map(isProxy)).toEqual(yes.map(() => true));
    expect(['10.0.0.6', '192.168.2.1', '2001:db9::1'].map(isProxy)).toEqual([false, false, false]);
    expect(proxyCheck([])('127.0.0.1')).toBe(false);
  });
});
