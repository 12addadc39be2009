/** Scan results as candidate points, and the points made from the selected ones. */
import type { SiteView } from '../server/queries.ts';
import type { ScannedChannel } from './device-queries.ts';

/** Types of a single numeric value. */
export const registerTypes = ['uint16', 'int16', 'uint32', 'int32', 'float32', 'uint64', 'int64', 'float64'] as const;

export interface FoundPlace {
  readonly key: string;
  /** For display. */
  readonly label: string;
  readonly name: string;
  readonly unit: string;
  readonly address: Readonly<Record<string, unknown>>;
  /** Whether a person must choose the type of the value. */
  readonly isTyped: boolean;
}

export function placesOfModels({ models }: ScannedChannel): FoundPlace[] {
  return models.flatMap(({ model, name, register, points }) => {
    const alike = models.filter((other) => other.model === model);
    const nth = alike.findIndex((other) => other.register === register) + 1;
    return points
      .filter(({ value }) => value !== null && value !== '')
      .map(
        ({ point, unit }): FoundPlace => ({
          key: `${register} ${point}`,
          label: `${model} ${name ?? ''} ${point}`,
          name: point.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_'),
          unit: unit === '' ? '1' : unit,
          address: { model, ...(alike.length > 1 ? { nth } : {}), point },
          isTyped: false,
        }),
      );
  });
}

/** `isOfUnit`: the scan named a unit, which may differ from that of the channel, so addresses include it. */
export function placesOfRegisters({ registers }: ScannedChannel, isOfUnit: boolean): FoundPlace[] {
  return registers.map(({ unit, table, register }) => {
    const isBit = table === 'coil' || table === 'discrete';
    return {
      key: `${unit} ${table} ${register}`,
      label: isOfUnit ? `${unit} ${table} ${register}` : `${table} ${register}`,
      name: `${table}_${register}`,
      unit: '1',
      address: { ...(isOfUnit ? { unit_id: unit } : {}), table, register, ...(isBit ? { type: 'bool' } : {}) },
      isTyped: !isBit,
    };
  });
}

/** A chosen place with the input of the form. */
export interface PlannedPoint {
  readonly place: FoundPlace;
  readonly name: string;
  readonly unit: string;
  readonly kind: 'measurement' | 'action';
  readonly type: (typeof registerTypes)[number];
}

export function planned(place: FoundPlace): PlannedPoint {
  return { place, name: place.name, unit: place.unit, kind: 'measurement', type: 'uint16' };
}

/** With the smallest unused numbers of the instance. */
export function pointTexts(
  channel: string,
  plans: readonly PlannedPoint[],
  taken: SiteView['instances'][number]['points'],
) {
  const used = new Set(taken.map(({ kind, id }) => `${kind} ${id}`));
  return plans.map(({ place, name, unit, kind, type }) => {
    let id = 1;
    while (used.has(`${kind} ${id}`)) id++;
    used.add(`${kind} ${id}`);
    const address = place.isTyped ? { ...place.address, type } : place.address;
    return { id, name: name.trim(), kind, unit: unit.trim(), channel, address };
  });
}
