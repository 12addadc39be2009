/** How long a certificate is valid; shared by the connections that see one. */
import type { X509Certificate } from 'node:crypto';
import { TLSSocket } from 'node:tls';

/** Wall milliseconds. */
export interface Validity {
  readonly beginMs: number;
  readonly endMs: number;
}

export function validityOf({ validFromDate, validToDate }: X509Certificate): Validity {
  return { beginMs: validFromDate.getTime(), endMs: validToDate.getTime() };
}

/** Of the certificate that the other end of a connection showed; null without TLS. */
export function shownValidity(socket: unknown): Validity | null {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  return certificate === undefined ? null : validityOf(certificate);
}
