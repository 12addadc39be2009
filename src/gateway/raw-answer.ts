/**
 * Refusals without the framework [platform §2.1]: for invalid HTTP, for requests that
 * take too long to arrive, and for unsupported protocols. The connection is closed.
 */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { Fault } from '../base/fault.ts';
import { correlationIdPattern, newId } from '../base/id.ts';
import { envelopeOf, refusalHeaders } from './envelope.ts';

/** The headers of every answer, success or error. */
export function answerHeaders(correlationId: string): Record<string, string> {
  return { 'x-correlation-id': correlationId, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
}

/** The caller's correlation id if valid, otherwise a new one. */
export function correlationIdOf(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && correlationIdPattern.test(given) ? given : newId();
}

export function answerRaw(socket: Duplex, fault: Fault, correlationId = newId()): void {
  if (!socket.writable) return;
  const body = JSON.stringify(envelopeOf(fault, correlationId));
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    ...answerHeaders(correlationId),
    ...refusalHeaders(fault),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${fault.status} ${STATUS_CODES[fault.status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** The refusal of a request that the HTTP parser rejected. */
export function unreadableRequest(code: string | undefined): Fault {
  if (code === 'HPE_HEADER_OVERFLOW') return new Fault('headers-too-large', 'the headers are too large');
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return new Fault('payload-too-large', 'the chunk extensions are too large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Fault('request-timeout', 'the request did not arrive in time');
  return new Fault('invalid-input', 'the request is not valid HTTP');
}
