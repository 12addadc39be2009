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
    header_bytes: Type.Integer({
      minimum: 1024,
      maximum: 65_536,
      default: 16_384,
      description: 'all headers of a request',
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
      description: 'mutations of one subject',
    }),
    failed_authentications_per_minute: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 600,
      description: 'failed authentications from one address',
    }),
    trusted_proxies: Type.Array(Type.String({ minLength: 1 }), {
      maxItems: 64,
      default: [],
      description: 'addresses whose X-Forwarded-For is believed',
    }),
    drain_timeout_ms: Type.Integer({
      minimum: 0,
      maximum: 10_000,
      default: 8000,
      description: 'time that open requests get at shutdown',
    }),
  },
  { additionalProperties: false },
);

export type GatewayLimits = Static<typeof gatewayLimitsSchema>;

export const gatewayLimits: GatewayLimits = {
  rule_body_bytes: 1_048_576,
  header_bytes: 16_384,
  request_timeout_ms: 30_000,
  mutations_per_minute: 1200,
  failed_authentications_per_minute: 600,
  trusted_proxies: [],
  drain_timeout_ms: 8000,
};
