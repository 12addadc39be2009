/** Changes to the text of site.yaml [points §1.1]: pure. Comments stay; the site parser validates the result. */
import { appendToYaml, formatYaml, parseYaml } from '../base/yaml.ts';

export interface NewSite {
  readonly id: string;
  readonly name: string;
  readonly timezone: string;
}

/** A site without channels and points. */
export function newSiteText({ id, name, timezone }: NewSite): string {
  return formatYaml({ schema: 'svc.site.v1', site: { id, name, timezone }, channels: [], instances: [] });
}

export interface NewDevice {
  readonly id: number;
  readonly name: string;
  readonly template: string;
  /** A channel of the site, instead of one of its own. */
  readonly channel?: string;
  readonly parameters: Readonly<Record<string, string | number>>;
}

export function withDevice(text: string, device: NewDevice): string {
  return appendToYaml(text, ['instances'], [device]);
}

/** The smallest number from 1 that no instance has. */
export function freeInstanceId(text: string): number {
  const taken = new Set(instancesOf(text).map(({ id }) => id));
  let id = 1;
  while (taken.has(id)) id++;
  return id;
}

interface Place {
  readonly id: number;
  readonly name: string;
  readonly points: number;
}

/** The existing instances, by position. */
function instancesOf(text: string): readonly Place[] {
  const { instances } = Object(parseYaml(text, 'site.yaml').value) as { readonly instances?: unknown };
  if (!Array.isArray(instances)) return [];
  return instances.map((instance) => {
    const { id, name, points } = Object(instance) as Readonly<Record<string, unknown>>;
    return { id: Number(id), name: String(name), points: Array.isArray(points) ? points.length : 0 };
  });
}

export interface TextDifference {
  /** Number of the first line that differs, from 1. */
  readonly line: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** The lines between the common beginning and the common end of both texts. */
export function textDifference(before: string, after: string): TextDifference {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  return { line: head + 1, removed: old.slice(head, old.length - tail), added: now.slice(head, now.length - tail) };
}

/** A point of a table, and its row. */
export interface ImportedPoint {
  readonly row: number;
  readonly instance: number;
  /** Null if the table does not say. */
  readonly instanceName: string | null;
  readonly point: Readonly<Record<string, unknown>>;
}

export interface ImportedSite {
  readonly text: string;
  /** The row of a point that site.yaml has at `/instances/I/points/P`. */
  rowOf(instance: number, point: number): number | undefined;
  /** Rows that give an instance another name than it has. */
  readonly misnamed: readonly { readonly row: number; readonly reason: string }[];
}

export function withPoints(text: string, imported: readonly ImportedPoint[]): ImportedSite {
  const rows = new Map<string, number>();
  const places = [...instancesOf(text)];
  const misnamed: { readonly row: number; readonly reason: string }[] = [];
  let edited = text;
  for (const [id, points] of Map.groupBy(imported, ({ instance }) => instance)) {
    const known = places.findIndex((place) => place.id === id);
    const at = known === -1 ? places.length : known;
    const before = places[at]?.points ?? 0;
    points.forEach(({ row }, order) => rows.set(`${at}/${before + order}`, row));
    const texts = points.map(({ point }) => point);
    const name = places[known]?.name ?? points.find((point) => point.instanceName)?.instanceName ?? `instance ${id}`;
    for (const { row, instanceName: given } of points)
      if (given !== null && given !== name)
        misnamed.push({ row, reason: `instance ${id} is named ${name}, not ${given}` });
    if (known === -1) places.push({ id, name, points: points.length });
    edited =
      known === -1
        ? appendToYaml(edited, ['instances'], [{ id, name, points: texts }])
        : appendToYaml(edited, ['instances', at, 'points'], texts);
  }
  return { text: edited, rowOf: (instance, point) => rows.get(`${instance}/${point}`), misnamed };
}
