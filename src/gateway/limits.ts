/** Limits of the HTTP side [platform §2.4]; the section `http` of service.yaml. */
import Type, { type Static } from 'typebox';
import { defaultsOf, limit } from '../base/limits.ts';
import { strict } from '../base/schema.ts';

export const gatewayLimitsSchema = strict({
  rule_body_bytes: limit(1_048_576, [1024, 16_777_216], 'body of a rules request'),
  plan_body_bytes: limit(16_777_216, [1024, 134_217_728], 'body of a plan of rules'),
  session_body_bytes: limit(4096, [256, 65_536], 'body of a sign-in'),
  processing_body_bytes: limit(65_536, [1024, 1_048_576], 'body of a data processing request'),
  header_bytes: limit(16_384, [1024, 65_536], 'all headers of a request'),
  connections: limit(1000, [1, 65_536], 'open connections, those of live streams included; more are closed at once'),
  connections_per_address: limit(
    100,
    [1, 65_536],
    'open connections from one address (IPv6: one /64); more are closed at once; trusted proxies are exempt',
  ),
  connections_per_loopback: limit(500, [1, 65_536], 'the same for the loopback addresses of this machine'),
  request_timeout_ms: limit(30_000, [100, 600_000], 'time to receive a whole request'),
  mutations_per_minute: limit(1200, [1, 1_000_000], 'mutations of one subject of one tenant and project'),
  processing_calls_per_minute: limit(1200, [1, 1_000_000], 'calls of data processing by one subject'),
  audit_searches_per_minute: limit(300, [1, 1_000_000], 'searches of the audit log by one subject'),
  refusals_recorded_per_minute: limit(
    10,
    [1, 1_000_000],
    'refusals of one kind by one subject that are recorded each for itself; further ones are counted in one record',
  ),
  refusal_kinds_max: limit(10_000, [10, 1_000_000], 'kinds of refusals that are counted at once'),
  failed_authentications_per_minute: limit(
    600,
    [1, 1_000_000],
    'failed authentications from one address (IPv6: one /64); a valid token is never refused for them',
  ),
  verified_tokens_max: limit(1000, [1, 100_000], 'tokens whose verified signature is remembered'),
  verified_token_ms: limit(60_000, [0, 3_600_000], 'time after which the signature of a token is verified again'),
  session_ms: limit(43_200_000, [60_000, 2_592_000_000], 'time after which a session of the console ends in any case'),
  session_cache_ms: limit(3000, [0, 3000], 'time after which a session that another process ended counts no more'),
  sign_in_free_failures: limit(5, [1, 1000], 'failed sign-ins of a name before it has to wait'),
  sign_in_wait_ms: limit(1000, [100, 60_000], 'first wait of a name after failed sign-ins; it doubles'),
  sign_in_wait_max_ms: limit(900_000, [1000, 86_400_000], 'longest wait of a name after failed sign-ins'),
  sign_in_names_max: limit(10_000, [10, 1_000_000], 'names whose failed sign-ins are remembered'),
  sign_in_waiting_max: limit(20, [1, 1000], 'sign-ins with a password that wait for one another'),
  provider_timeout_ms: limit(5000, [100, 60_000], 'time that the provider people sign in with has for an answer'),
  provider_retry_ms: limit(5000, [0, 60_000], 'how long a provider that is away is not asked again'),
  provider_grace_ms: limit(
    0,
    [0, 86_400_000],
    'how long sessions and keys of a provider remain valid while it is away',
  ),
  trusted_proxies: Type.Array(Type.String({ minLength: 1 }), {
    maxItems: 64,
    default: [],
    description: 'addresses whose X-Forwarded-For is believed',
  }),
  cors_origins: Type.Array(
    Type.String({
      pattern: '^https?://[^/\\s*]+$',
      maxLength: 261,
      description: 'an origin such as https://dashboard.example, without a path',
    }),
    {
      maxItems: 64,
      default: [],
      description: 'origins whose pages may call the API with a bearer token',
    },
  ),
  // A shutdown ends within 10 s, and the steps after the requests need some of it.
  drain_timeout_ms: limit(5000, [0, 8000], 'time that open requests get at shutdown'),
  jwks_timeout_ms: limit(3000, [100, 30_000], 'time to read the key set of an identity provider'),
  jwks_bytes: limit(262_144, [1024, 16_777_216], 'largest key set of an identity provider'),
  jwks_refresh_ms: limit(
    30_000,
    [0, 3_600_000],
    'shortest time between two readings of the key set because of an unknown key',
  ),
  jwks_max_age_ms: limit(600_000, [1000, 86_400_000], 'longest time that a key set is used without being read again'),
});

export type GatewayLimits = Static<typeof gatewayLimitsSchema>;

export const gatewayLimits: GatewayLimits = defaultsOf(gatewayLimitsSchema);
