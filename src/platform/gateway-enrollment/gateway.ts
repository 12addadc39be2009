/**
 * The gateway aggregate [platform §6.4]: `registered` → `awaiting-claim` → `claimed`. Its revision is 1 at
 * first and grows by one with each change, so a claim issued again has one more. Functions of data and now.
 */
import type { Scope } from '../call-context.ts';
import { instant } from '../instant.ts';

interface Claim {
  readonly claimId: string;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

interface GatewayCore extends Scope {
  readonly gatewayId: string;
  readonly displayName: string;
  readonly revision: number;
}

export type Gateway =
  | (GatewayCore & { readonly state: 'registered' })
  | (GatewayCore & {
      readonly state: 'awaiting-claim';
      readonly claim: Claim;
      /** SHA-256 of the token; the token itself is never stored, and its digest only until it is used. */
      readonly tokenDigest: string;
    })
  | (GatewayCore & {
      readonly state: 'claimed';
      readonly claim: Claim;
      readonly claimedAtMs: number;
      /** Of the request with which the gateway asked for its credential. */
      readonly credentialRequestFingerprint: string;
    });

/** The caller's view: never a token, a digest or a fingerprint. */
export interface GatewayView extends Scope {
  readonly gatewayId: string;
  readonly displayName: string;
  readonly state: Gateway['state'];
  readonly revision: number;
  readonly claimId?: string;
  readonly claimExpiresAt?: string;
  readonly claimedAt?: string;
}

export function registered(scope: Scope, gatewayId: string, displayName: string): Gateway {
  return { ...scope, gatewayId, displayName, state: 'registered', revision: 1 };
}

export type ClaimRefusal = 'enrollment-claim-active' | 'gateway-already-claimed';

/** Whether a claim may be issued now: the first one, or another after one that expired unused. */
export function claimRefusal(gateway: Gateway, nowMs: number): ClaimRefusal | null {
  if (gateway.state === 'claimed') return 'gateway-already-claimed';
  return gateway.state === 'awaiting-claim' && nowMs < gateway.claim.expiresAtMs ? 'enrollment-claim-active' : null;
}

export function awaitingClaim(gateway: Gateway, claim: Claim, tokenDigest: string): Gateway {
  return { ...coreOf(gateway), state: 'awaiting-claim', revision: gateway.revision + 1, claim, tokenDigest };
}

/** A claim is good from its issue until just before its expiry. */
export function isClaimOpen({ issuedAtMs, expiresAtMs }: Claim, nowMs: number): boolean {
  return issuedAtMs <= nowMs && nowMs < expiresAtMs;
}

export function claimed(
  gateway: Extract<Gateway, { state: 'awaiting-claim' }>,
  credentialRequestFingerprint: string,
  nowMs: number,
): Gateway {
  return {
    ...coreOf(gateway),
    state: 'claimed',
    revision: gateway.revision + 1,
    claim: gateway.claim,
    claimedAtMs: nowMs,
    credentialRequestFingerprint,
  };
}

export function viewOf(gateway: Gateway): GatewayView {
  const { tenantId, projectId, gatewayId, displayName, state, revision } = gateway;
  const core = { tenantId, projectId, gatewayId, displayName, state, revision };
  if (gateway.state === 'registered') return Object.freeze(core);
  const { claimId, expiresAtMs } = gateway.claim;
  const withClaim = { ...core, claimId, claimExpiresAt: instant(expiresAtMs) };
  return Object.freeze(
    gateway.state === 'claimed' ? { ...withClaim, claimedAt: instant(gateway.claimedAtMs) } : withClaim,
  );
}

function coreOf({ tenantId, projectId, gatewayId, displayName, revision }: Gateway): GatewayCore {
  return { tenantId, projectId, gatewayId, displayName, revision };
}
