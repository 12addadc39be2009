/** Overrides and limits [points §7]: what may be asked for, and how they look on the wire. */
import { grantIdOf, grantSecondsMax } from '../api/points.ts';
import { Fault } from '../base/fault.ts';
import { timeLabel } from '../base/timestamp.ts';
import type { Grant } from '../rules/authority.ts';
import { settled } from '../rules/step.ts';
import type { PointFacts } from '../site/catalogue.ts';

/** Requester, time and id of a new grant. */
export interface GrantCircumstances {
  readonly id: string;
  readonly nowMs: number;
  readonly by: { readonly kind: string; readonly id: string };
}

interface GrantRequest {
  readonly for_seconds: number;
  readonly reason: string;
}
export interface OverrideRequest extends GrantRequest {
  readonly value: number;
}
export interface LimitRequest extends GrantRequest {
  readonly min?: number;
  readonly max?: number;
}

/** A person's value must be one that the point can take: unlike a rule's, it is not rounded. */
export function overrideOf(point: PointFacts, request: OverrideRequest, circumstances: GrantCircumstances): Grant {
  const value = settled(request.value, point);
  if (value === null)
    throw new Fault('invalid-value', `value ${request.value} is outside the range ${rangeText(point)} of the point`, {
      details: { min: point.min ?? null, max: point.max ?? null },
    });
  if (point.step !== undefined && Math.abs(value - request.value) > point.step * 1e-6)
    throw new Fault(
      'invalid-value',
      `value ${request.value} is not a multiple of the step ${point.step}; ${value} is`,
      {
        details: { step: point.step, nearest: value },
      },
    );
  return { kind: 'override', value, ...factsOf(point, request, circumstances) };
}

export function limitOf(point: PointFacts, request: LimitRequest, circumstances: GrantCircumstances): Grant {
  const { min = null, max = null } = request;
  if (min === null && max === null) throw new Fault('invalid-input', 'body: a limit needs min, max or both');
  if (min !== null && max !== null && min > max)
    throw new Fault('invalid-value', `min ${min} is above max ${max}; give min below max`);
  return { kind: 'limit', min, max, ...factsOf(point, request, circumstances) };
}

function factsOf(
  { instance, point }: PointFacts,
  { for_seconds: seconds, reason }: GrantRequest,
  { id, nowMs, by }: GrantCircumstances,
) {
  if (seconds > grantSecondsMax) throw new Error('the schema bounds the duration');
  const untilMs = nowMs + seconds * 1000;
  return { id: grantIdOf(instance, point, id), instance, point, fromMs: nowMs, untilMs, by, reason };
}

function rangeText({ min, max }: PointFacts): string {
  return `${min ?? 'any'} to ${max ?? 'any'}`;
}

export function grantView(grant: Grant, state: 'active' | 'released' = 'active') {
  const { id, instance, point, untilMs, by, reason } = grant;
  return {
    override_id: id,
    kind: grant.kind,
    instance,
    point,
    ...(grant.kind === 'override' ? { value: grant.value } : { min: grant.min, max: grant.max }),
    until: timeLabel(untilMs),
    by,
    reason,
    state,
  };
}
