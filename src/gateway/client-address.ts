/** Addresses of clients, for limits by address [identity §6]. */
import { BlockList, isIPv6 } from 'node:net';

/**
 * The key of a client address: an IPv4 address unchanged, also if it is written as IPv6, and the first 64 bits of any other
 * IPv6 address, because a client usually has the whole /64.
 */
export function addressKey(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  // An address with an IPv4 suffix has two groups in one.
  const written = before.length + after.length + (address.includes('.') ? 1 : 0);
  const all = [...before, ...Array.from({ length: tail === undefined ? 0 : 8 - written }, () => '0'), ...after];
  const prefix = all.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${prefix.join(':')}::/64`;
}

export function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\./i.test(address) || address === '::1';
}

const namedRanges: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** Whether an address is one of `trusted_proxies`: addresses, subnets, or the names of ranges. */
export function proxyCheck(trusted: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const entry of trusted.flatMap((each) => namedRanges[each] ?? [each])) {
    const [address = '', bits] = entry.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const key = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
    return list.check(key, isIPv6(key) ? 'ipv6' : 'ipv4');
  };
}
