/** The points and parameters of a site as rules see them. It does not load the site parser, so every thread can use it. */
import type { PointFacts, PointRef, SiteCatalogue } from './catalogue.ts';
import type { Site } from './site.ts';

export function siteCatalogue(site: Pick<Site, 'timezone' | 'points' | 'parameters'>): SiteCatalogue {
  const points = site.points.map(
    (point): PointFacts => ({
      index: point.index,
      instance: point.instance,
      point_type: point.kind,
      point: point.id,
      name: point.name,
      unit: point.unit,
      isText: point.isText,
      min: point.min,
      max: point.max,
      step: point.step,
      register: point.register,
      writable: point.writable,
      maxAgeMs: point.maxAgeMs,
      maxWritesPerMinute: point.maxWritesPerMinute,
      priorityHoldMs: point.priorityHoldMs,
      holdMaxMs: point.holdMaxMs,
      safeValue: point.safeValue,
    }),
  );
  const byKey = new Map(points.map((point) => [keyOf(point), point]));
  return {
    timezone: site.timezone,
    points,
    point: (ref) => byKey.get(keyOf(ref)),
    parameter: (name) => (Object.hasOwn(site.parameters, name) ? site.parameters[name] : undefined),
  };
}

function keyOf(ref: PointRef): string {
  return `${ref.instance}:${ref.point_type}:${ref.point}`;
}
