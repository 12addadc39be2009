/** The ports of provider-region discovery [platform §6.2]. */
import type { Scope } from '../call-context.ts';

/** A tenant's access to one provider. It holds a reference to a credential, never the credential. */
export interface CloudConnection extends Scope {
  readonly connectionId: string;
  readonly providerId: string;
  readonly enabled: boolean;
  /** `secret://…` or `workload-identity://…`. */
  readonly credentialReference: string;
}

export interface CloudConnections {
  find(scope: Scope, connectionId: string): Promise<CloudConnection | null>;
}

interface RegionRequest extends Scope {
  readonly connectionId: string;
  readonly credentialReference: string;
}

export const providerFailureCodes = [
  'provider-authentication-failed',
  'provider-configuration-invalid',
  'provider-permission-denied',
  'provider-rate-limited',
  'provider-unavailable',
] as const;

export const regionAvailabilities = ['available', 'restricted', 'unavailable', 'unknown'] as const;

export interface Region {
  readonly regionId: string;
  readonly displayName: string;
  readonly availability: (typeof regionAvailabilities)[number];
  /** Each declared by the adapter. */
  readonly capabilities: readonly string[];
}

export interface RegionObservation {
  readonly providerId: string;
  readonly connectionId: string;
  readonly observedAt: string;
  readonly regions: readonly Region[];
}

/** An adapter's answer; every call checks its form. */
type RegionAnswer =
  | { readonly ok: true; readonly observation: RegionObservation }
  | { readonly ok: false; readonly code: (typeof providerFailureCodes)[number]; readonly retryable: boolean };

export interface ProviderAdapter {
  readonly providerId: string;
  /** The capabilities that its regions may have. */
  readonly capabilities: readonly string[];
  /** Stops when `signal` aborts: the answer is no longer awaited. */
  discoverRegions(request: RegionRequest, signal: AbortSignal): Promise<RegionAnswer>;
}
