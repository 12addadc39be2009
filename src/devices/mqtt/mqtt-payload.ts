/**
 * Values in MQTT payloads [points §3.2]: a number, JSON with a path to a value, or text; device words by a map.
 * Strict: only a finite number, a text that is one, and true or false (1 and 0) have a value.
 */

export interface PayloadFormat {
  /** `json` by default: a number alone is JSON too. */
  readonly payload: 'number' | 'json' | 'text';
  readonly steps: readonly (string | number)[];
  /** Words of the device with their numbers; other payloads are then invalid. */
  readonly map: Readonly<Record<string, number>> | undefined;
}

export type PayloadValue = { readonly number: number } | { readonly text: string };

const step = /\.([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/g;
const numeric = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

/** Steps of a path such as `$.meter.values[0]` or `$['em:0'].power`: a member's name or an element's position. */
export function pathSteps(path: string): (string | number)[] {
  return [...path.matchAll(step)].map(([, name, position, single, double]) =>
    position === undefined ? (name ?? single ?? double ?? '') : Number(position),
  );
}

/** The value in the payload; null if it has none of that type. */
export function valueIn(payload: Buffer, { payload: kind, steps, map }: PayloadFormat): PayloadValue | null {
  const text = payload.toString('utf8');
  const found = kind === 'json' ? memberAt(text, steps) : text.trim();
  if (map !== undefined) {
    const isWord = typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean';
    const word = isWord ? String(found) : undefined;
    return word !== undefined && Object.hasOwn(map, word) ? { number: map[word] ?? Number.NaN } : null;
  }
  if (kind === 'text') return { text };
  const number = numberOf(found);
  return number === null ? null : { number };
}

/** Undefined without such a member, or if it is not JSON. */
function memberAt(text: string, steps: readonly (string | number)[]): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  for (const each of steps) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, each)) return undefined;
    value = Reflect.get(value, each);
  }
  return value;
}

function numberOf(value: unknown): number | null {
  if (typeof value === 'boolean') return value ? 1 : 0;
  const number = typeof value === 'string' && numeric.test(value.trim()) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** The payload with `value` at its path; elements before it are null. Null for a number that is not in the map. */
export function payloadOf(value: number, { payload: kind, steps, map }: PayloadFormat): string | null {
  const word = map === undefined ? undefined : Object.entries(map).find(([, number]) => number === value)?.[0];
  if (map !== undefined && word === undefined) return null;
  const body: unknown = word ?? value;
  if (kind !== 'json') return String(body);
  return JSON.stringify(
    steps.reduceRight<unknown>((inner, each) => {
      if (typeof each === 'string') return { [each]: inner };
      return [...Array.from({ length: each }, () => null), inner];
    }, body),
  );
}
