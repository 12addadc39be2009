/** The site as editors see it: `GET /api/instances` [rules §2.6]. No live values. */

import type { Parameter, SiteCatalogue } from '../site/catalogue.ts';

export interface SiteNames {
  readonly id: string;
  readonly name: string;
  readonly instances: readonly { readonly id: number; readonly name: string }[];
}

export function catalogueView(
  catalogue: SiteCatalogue,
  site: SiteNames,
  parameters: Readonly<Record<string, Parameter>>,
): unknown {
  const points = Map.groupBy(catalogue.points, ({ instance }) => instance);
  return {
    site: { id: site.id, name: site.name },
    timezone: catalogue.timezone,
    instances: site.instances.map(({ id, name }) => ({
      id,
      name,
      points: (points.get(id) ?? []).map((point) => ({
        id: point.point,
        name: point.name,
        kind: point.point_type,
        unit: point.unit,
        min: point.min ?? null,
        max: point.max ?? null,
        step: point.step ?? null,
        writable: point.writable,
      })),
    })),
    parameters: Object.entries(parameters).map(([name, parameter]) => parameterView(name, parameter)),
  };
}

export function parameterView(name: string, { value, unit, min, max, fileValue }: Parameter) {
  return {
    name,
    value,
    unit: unit ?? null,
    min: min ?? null,
    max: max ?? null,
    file_value: fileValue ?? value,
    changed: fileValue !== undefined,
  };
}
