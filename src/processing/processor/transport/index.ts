/** The registry of transports: how a processor is reached, by the scheme of its endpoint. */
import { http } from './http.ts';
import type { ReachedProcessor, Transport, TransportParts, TransportSettings } from './transport.ts';

const transports: Readonly<Record<string, Transport>> = { 'http:': http, 'https:': http };

export function hasTransport(endpoint: URL): boolean {
  return Object.hasOwn(transports, endpoint.protocol);
}

/** Throws for an endpoint that nothing reaches; commissioning has refused it before. */
export function reachProcessor(settings: TransportSettings, parts: TransportParts): ReachedProcessor {
  const transport = transports[new URL(settings.endpoint).protocol];
  if (transport === undefined) throw new Error(`no transport reaches processor ${settings.id}`);
  return transport(settings, parts);
}
