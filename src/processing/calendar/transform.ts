/** What a calendar transform is [data-processing §4.9]: a pure function of an interval-end label and the site's place. */
import { localMs } from '../../rules/local-time.ts';

export interface CalendarPlace {
  /** The task's zone. */
  readonly timezone: string;
  /** Of site.yaml; null when it names no place. */
  readonly latitude: number | null;
  readonly longitude: number | null;
  /** Local dates, `YYYY-MM-DD`. */
  readonly holidays: ReadonlySet<string>;
}

export interface CalendarTransform {
  readonly unit: '1' | 'deg';
  /** Semantic name of the source in provenance. */
  readonly sourceRef: string;
  /** True when site.yaml must give latitude and longitude. */
  readonly needsPlace: boolean;
  at(labelMs: number, place: CalendarPlace): number;
}

/** A transform that looks at nothing but the label's local clock and date. */
export function fromLocalTime(sourceRef: string, read: (local: number) => number): CalendarTransform {
  return {
    unit: '1',
    sourceRef,
    needsPlace: false,
    at: (labelMs, place) => read(localMs(labelMs, place.timezone)),
  };
}
