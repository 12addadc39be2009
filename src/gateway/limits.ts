/** Limits of the HTTP side (decisions §1 "Limits"); the section `http` of service.yaml. */
import Type, { type Static } from 'typebox';

export const gatewayLimitsSchema = Type.Object(
  {
    rule_body_bytes: Type.Integer({
      minimum: 1024,
      maximum: 16_777_216,
      default: 1_048_576,
      description: 'body of a rules request',
    }),
    session_body_bytes: Type.Integer({
      minimum: 256,
      maximum: 65_536,
      default: 4096,
      description: 'body of a sign-in',
    }),
    processing_body_bytes: Type.Integer({
      minimum: 1024,
      maximum: 1_048_576,
      default: 65_536,
      description: 'body of a data processing request',
    }),
    header_bytes: Type.Integer({
      minimum: 1024,
      maximum: 65_536,
      default: 16_384,
      description: 'all headers of a request',
    }),
    connections: Type.Integer({
      minimum: 1,
      maximum: 65_536,
      default: 1000,
      description: 'open connections, those of live streams included; more are closed at once',
    }),
    connections_per_address: Type.Integer({
      minimum: 1,
      maximum: 65_536,
      default: 100,
      description:
        'open connections from one address (IPv6: one /64); more are closed at once; trusted proxies are exempt',
    }),
    connections_per_loopback: Type.Integer({
      minimum: 1,
      maximum: 65_536,
      default: 500,
      description: 'the same for the loopback addresses of this machine',
    }),
    request_timeout_ms: Type.Integer({
      minimum: 100,
      maximum: 600_000,
      default: 30_000,
      description: 'time to receive a whole request',
    }),
    mutations_per_minute: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 1200,
      description: 'mutations of one subject of one tenant and project',
    }),
    processing_calls_per_minute: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 1200,
      description: 'calls of data processing by one subject',
    }),
    failed_authentications_per_minute: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 600,
      description: 'failed authentications from one address (IPv6: one /64); a valid token is never refused for them',
    }),
    trusted_proxies: Type.Array(Type.String({ minLength: 1 }), {
      maxItems: 64,
      default: [],
      description: 'addresses whose X-Forwarded-For is believed',
    }),
    drain_timeout_ms: Type.Integer({
      minimum: 0,
      // A stop ends within 10 s, and what comes after the requests needs some of it.
      maximum: 8000,
      default: 5000,
      description: 'time that open requests get at shutdown',
    }),
    jwks_timeout_ms: Type.Integer({
      minimum: 100,
      maximum: 30_000,
      default: 3000,
      description: 'time to read the key set of an identity provider',
    }),
    jwks_refresh_ms: Type.Integer({
      minimum: 0,
      maximum: 3_600_000,
      default: 30_000,
      description: 'shortest time between two readings of the key set because of an unknown key',
    }),
    jwks_max_age_ms: Type.Integer({
      minimum: 1000,
      maximum: 86_400_000,
      default: 600_000,
      description: 'longest time that a key set is used without being read again',
    }),
  },
  { additionalProperties: false },
);

export type GatewayLimits = Static<typeof gatewayLimitsSchema>;

export const gatewayLimits: GatewayLimits = {
  rule_body_bytes: 1_048_576,
  session_body_bytes: 4096,
  processing_body_bytes: 65_536,
  header_bytes: 16_384,
  connections: 1000,
  connections_per_address: 100,
  connections_per_loopback: 500,
  request_timeout_ms: 30_000,
  mutations_per_minute: 1200,
  processing_calls_per_minute: 1200,
  failed_authentications_per_minute: 600,
  trusted_proxies: [],
  drain_timeout_ms: 5000,
  jwks_timeout_ms: 3000,
  jwks_refresh_ms: 30_000,
  jwks_max_age_ms: 600_000,
};
