/**
 * Where an endpoint's name leads, resolved once for one call ([processor §6.3]: DNS pinned). A `local` endpoint
 * must be on loopback in every address that its name has: one that is not makes the name unusable.
 */
import { lookup as lookupName } from 'node:dns/promises';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import { outboundLimits } from './limits.ts';

export interface PinnedAddress {
  readonly address: string;
  readonly family: number;
}

export type Resolve = (name: string) => Promise<readonly PinnedAddress[]>;

export const systemResolve: Resolve = (name) => lookupName(name, { all: true });

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && loopback.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** True for the names and literal addresses of this very machine; no other name is trusted to resolve to it. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** The addresses that the call may use; none when there is no such name, or when it leads out of the boundary. */
export async function pinnedAddresses(
  url: URL,
  boundary: 'local' | 'remote',
  resolve: Resolve,
): Promise<readonly PinnedAddress[]> {
  const name = url.hostname.replace(/^\[|\]$/g, '');
  const found = isIP(name) === 0 ? await resolve(name) : [{ address: name, family: isIPv6(name) ? 6 : 4 }];
  const addresses = found.slice(0, outboundLimits.addressesMax);
  return boundary === 'remote' || addresses.every(({ address }) => isLoopbackAddress(address)) ? addresses : [];
}

/** A lookup for a socket that answers with the pinned addresses, whatever name it is asked. */
export function pinnedLookup(addresses: readonly PinnedAddress[]): LookupFunction {
  return (_, options, done) => {
    const [first] = addresses;
    if (options.all === true)
      done(
        null,
        addresses.map((each) => ({ ...each })),
      );
    else if (first === undefined) done(new Error('no address'), '', 0);
    else done(null, first.address, first.family);
  };
}
