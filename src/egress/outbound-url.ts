/** Addresses that a site configures for what it calls elsewhere: https, or this very machine. */
import { isLoopbackHost } from './pinned-address.ts';

/** The error in the address, worded to follow its name; null without one. */
export function outboundUrlFault(url: URL | null): string | null {
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'is not an http or https URL';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) return 'must use https, or be a loopback address';
  return null;
}
