/** Validates an adapter's answer [platform §6.2]: an observation, a failure that it reports, or an invalid answer. */
import Type from 'typebox';
import { contextIdentifier } from '../call-context.ts';
import { isCanonicalInstant } from '../instant.ts';
import { type Refusal, refuseWith } from '../refusal.ts';
import { untrusted } from '../untrusted.ts';
import {
  type CloudConnection,
  type ProviderAdapter,
  providerFailureCodes,
  type Region,
  type RegionObservation,
  regionAvailabilities,
} from './ports.ts';

const exact = { additionalProperties: false };

const decodeAnswer = untrusted(
  Type.Union([
    Type.Object(
      {
        ok: Type.Literal(true),
        observation: Type.Object(
          {
            providerId: contextIdentifier,
            connectionId: contextIdentifier,
            observedAt: Type.String(),
            regions: Type.Array(
              Type.Object(
                {
                  regionId: contextIdentifier,
                  displayName: Type.String({ pattern: /^[^\p{Cc}\p{Cs}]{1,128}$/u }),
                  availability: Type.Union(regionAvailabilities.map((word) => Type.Literal(word))),
                  capabilities: Type.Array(contextIdentifier),
                },
                exact,
              ),
            ),
          },
          exact,
        ),
      },
      exact,
    ),
    Type.Object(
      {
        ok: Type.Literal(false),
        code: Type.Union(providerFailureCodes.map((code) => Type.Literal(code))),
        retryable: Type.Boolean(),
      },
      exact,
    ),
  ]),
);

export type Discovered = { readonly ok: true } & RegionObservation;

export function judgeAnswer(
  answer: unknown,
  connection: CloudConnection,
  adapter: Pick<ProviderAdapter, 'capabilities'>,
  regionsMax: number,
): Discovered | Refusal {
  const decoded = decodeAnswer(answer);
  if (decoded === null) return refuseWith('provider-adapter-contract-violation');
  if (!decoded.ok) return Object.freeze({ ok: false, code: decoded.code, retryable: decoded.retryable });
  const { providerId, connectionId, observedAt, regions } = decoded.observation;
  const declared = new Set(adapter.capabilities);
  const keeps =
    providerId === connection.providerId &&
    connectionId === connection.connectionId &&
    isCanonicalInstant(observedAt) &&
    regions.length <= regionsMax &&
    new Set(regions.map((region) => region.regionId)).size === regions.length &&
    regions.every((region) => region.capabilities.every((capability) => declared.has(capability)));
  if (!keeps) return refuseWith('provider-adapter-contract-violation');
  // Regions and their lists are frozen by the decoding.
  const sorted: readonly Region[] = Object.freeze(regions.toSorted(byCodeUnits));
  return Object.freeze({ ok: true, providerId, connectionId, observedAt, regions: sorted });
}

/** The order of `<` on strings, the same in every locale; ids are unique, so no two are equal. */
function byCodeUnits(left: Region, right: Region): number {
  return left.regionId < right.regionId ? -1 : 1;
}
