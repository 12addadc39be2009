/** The site's catalogue for parser and executor, from `GET /api/instances`: the same input as the server's own parser. */
import type { ComboboxItem, ComboboxItemGroup } from '@mantine/core';
import type { PointFacts, PointRef, SiteCatalogue } from '../../../src/site/catalogue.ts';
import type { SiteView } from '../server/queries.ts';

export interface ConsolePoint extends PointFacts {
  readonly instanceName: string;
}

type PointChoices = readonly ComboboxItemGroup<ComboboxItem>[];

export interface ConsoleCatalogue extends SiteCatalogue {
  readonly points: readonly ConsolePoint[];
  readonly parameters: SiteView['parameters'];
  readonly instances: SiteView['instances'];
  /** Points to choose from, by instance. */
  readonly choices: { readonly read: PointChoices; readonly write: PointChoices };
  point(ref: PointRef): ConsolePoint | undefined;
}

export function consoleCatalogue(site: SiteView): ConsoleCatalogue {
  const points = site.instances
    .flatMap((instance) => instance.points.map((point) => ({ instance, point })))
    .map(
      ({ instance, point }, index): ConsolePoint => ({
        index,
        instance: instance.id,
        instanceName: instance.name,
        point_type: point.kind,
        point: point.id,
        name: point.name,
        unit: point.unit,
        min: point.min ?? undefined,
        max: point.max ?? undefined,
        step: point.step ?? undefined,
        // The range gives the register's limits; rounding shows in the record of a run.
        register: undefined,
        writable: point.writable,
        // Ages, holds and rates are the engine's: here values are always fresh.
        maxAgeMs: Number.POSITIVE_INFINITY,
        maxWritesPerMinute: undefined,
        priorityHoldMs: 0,
        holdMaxMs: undefined,
        safeValue: undefined,
        // The service warns of text when the rule is stored.
        isText: false,
      }),
    );
  const byKey = new Map(points.map((point) => [pointKey(point), point]));
  const parameters = new Map(site.parameters.map((entry) => [entry.name, entry]));
  return {
    timezone: site.timezone,
    points,
    parameters: site.parameters,
    instances: site.instances,
    choices: choicesAmong(points),
    point: (ref) => byKey.get(pointKey(ref)),
    parameter(name) {
      const found = parameters.get(name);
      return found === undefined ? undefined : { value: found.value, unit: found.unit ?? undefined };
    },
  };
}

export function pointKey({ instance, point_type: kind, point }: PointRef): string {
  return `${instance}:${kind}:${point}`;
}

/** The reference in `key`, as made by `pointKey`. */
export function pointOfKey(key: string): PointRef {
  const [instance, kind, point] = key.split(':');
  return { instance: Number(instance), point_type: kind === 'action' ? 'action' : 'measurement', point: Number(point) };
}

export function pointLabel({ instanceName, name }: ConsolePoint): string {
  return `${instanceName} · ${name}`;
}

/** The name of a point with its unit; its address if the site has no such point. */
export function pointText(ref: PointRef, catalogue: ConsoleCatalogue): string {
  const point = catalogue.point(ref);
  if (point === undefined) return `${ref.instance}:${ref.point_type}:${ref.point}`;
  return `${pointLabel(point)}${point.unit === '1' || point.unit === '' ? '' : ` (${point.unit})`}`;
}

/** The same site with only these points to choose from. */
export function choosingAmong(
  catalogue: ConsoleCatalogue,
  isWanted: (point: ConsolePoint) => boolean,
): ConsoleCatalogue {
  const points = catalogue.points.filter(isWanted);
  return { ...catalogue, points, choices: choicesAmong(points) };
}

function choicesAmong(points: readonly ConsolePoint[]): ConsoleCatalogue['choices'] {
  return { read: choicesOf(points), write: choicesOf(points.filter(({ writable }) => writable)) };
}

function choicesOf(points: readonly ConsolePoint[]): PointChoices {
  const byInstance = Map.groupBy(points, ({ instance }) => instance);
  return [...byInstance.values()].map((own) => ({
    group: own[0]?.instanceName ?? '',
    items: own.map((point) => ({ value: pointKey(point), label: pointLabel(point) })),
  }));
}
