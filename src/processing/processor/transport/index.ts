/** The registry of transports, by the scheme of the endpoint. */
import { http } from './http.ts';
import type { ReachedProcessor, Transport, TransportParts, TransportSettings } from './transport.ts';

const transports: Readonly<Record<string, Transport>> = { 'http:': http, 'https:': http };

export function hasTransport(endpoint: URL): boolean {
  return Object.hasOwn(transports, endpoint.protocol);
}

/** Throws for an unsupported endpoint, which commissioning has already refused. */
export function reachProcessor(settings: TransportSettings, parts: TransportParts): ReachedProcessor {
  const transport = transports[new URL(settings.endpoint).protocol];
  if (transport === undefined) throw new Error(`no transport reaches processor ${settings.id}`);
  return transport(settings, parts);
}
