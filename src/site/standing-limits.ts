/**
 * Standing limits of site.yaml [points §7.2]: a number or the reading of a measurement bounds an action point, such as the signal
 * with which a grid operator curtails a plant.
 */
import Type, { type Static } from 'typebox';
import { strict } from '../base/schema.ts';
import type { YamlFile } from '../base/yaml.ts';

/** Standing limits of one site. */
export const standingLimitsMaximum = 1000;

const wireId = Type.Integer({ minimum: 0, maximum: 4_294_967_295 });
const pointPlace = strict({ instance: wireId, point: wireId });
const limitSchema = strict({
  target: pointPlace,
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
  min_from: Type.Optional(pointPlace),
  max_from: Type.Optional(pointPlace),
  failsafe: Type.Optional(
    strict({ value: Type.Number(), after_ms: Type.Integer({ minimum: 0, maximum: 86_400_000 }) }),
  ),
});
export const standingLimitsSchema = Type.Array(limitSchema, { maxItems: standingLimitsMaximum });

export type LimitBound =
  | { readonly value: number; readonly from?: undefined }
  | { readonly from: { readonly index: number; readonly maxAgeMs: number }; readonly value?: undefined };

export interface StandingLimit {
  /** `limits[0]`: its place in the file. */
  readonly id: string;
  /** Index of the action point. */
  readonly targetIndex: number;
  readonly min: LimitBound | undefined;
  readonly max: LimitBound | undefined;
  /** Limits the point while the reading has been unusable for longer than `afterMs`. */
  readonly failsafe: { readonly value: number; readonly afterMs: number } | undefined;
}

/** The part of a point that limits refer to. */
interface LimitPoint {
  readonly index: number;
  readonly instance: number;
  readonly kind: 'measurement' | 'action';
  readonly id: number;
  readonly maxAgeMs: number;
}

/** Resolves the limits of a site file; adds errors to `faults`. */
export function readStandingLimits(
  limits: Static<typeof standingLimitsSchema>,
  points: readonly LimitPoint[],
  file: YamlFile,
  faults: string[],
): StandingLimit[] {
  const find = (kind: LimitPoint['kind'], place: Static<typeof pointPlace>, path: string): LimitPoint | undefined => {
    const found = points.find(
      (each) => each.kind === kind && each.instance === place.instance && each.id === place.point,
    );
    if (found === undefined)
      faults.push(file.at(path, `unknown ${kind} point ${place.point} of instance ${place.instance}`));
    return found;
  };
  return limits.flatMap((text, position): StandingLimit[] => {
    const path = `/limits/${position}`;
    const boundOf = (side: 'min' | 'max'): LimitBound | undefined => {
      const [value, from] = [text[side], text[`${side}_from`]];
      if (value !== undefined && from !== undefined)
        faults.push(file.at(`${path}/${side}`, `give ${side} or ${side}_from, not both`));
      if (value !== undefined) return { value };
      const measured = from === undefined ? undefined : find('measurement', from, `${path}/${side}_from`);
      return measured === undefined ? undefined : { from: { index: measured.index, maxAgeMs: measured.maxAgeMs } };
    };
    const target = find('action', text.target, `${path}/target`);
    const [min, max] = [boundOf('min'), boundOf('max')];
    const follows = text.min_from !== undefined || text.max_from !== undefined;
    if (!follows && text.min === undefined && text.max === undefined)
      faults.push(file.at(path, 'a limit needs min, max, min_from or max_from'));
    if (follows !== (text.failsafe !== undefined))
      faults.push(file.at(path, 'failsafe goes with min_from or max_from, and they need it'));
    if (target === undefined) return [];
    const failsafe =
      text.failsafe === undefined ? undefined : { value: text.failsafe.value, afterMs: text.failsafe.after_ms };
    return [{ id: `limits[${position}]`, targetIndex: target.index, min, max, failsafe }];
  });
}
