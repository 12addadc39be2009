/**
 * Numbers in MQTT payloads [points §3.2]: a payload is a number, or JSON in which a path leads to one. Strict: what
 * is not a finite number, or true or false for 1 and 0, has no value; text that merely looks like a number is text.
 */

/** Steps of a path such as `$.meter.values[0]`: a member's name or an element's position. */
export function pathSteps(path: string): (string | number)[] {
  return [...path.matchAll(/\.([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]/g)].map(([, name, position]) =>
    name === undefined ? Number(position) : name,
  );
}

/** The number at `steps`; null when there is none. */
export function numberIn(payload: Buffer, steps: readonly (string | number)[]): number | null {
  let value: unknown;
  try {
    value = JSON.parse(payload.toString('utf8'));
  } catch {
    return null;
  }
  for (const step of steps) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return null;
    value = Reflect.get(value, step);
  }
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** The payload that has `value` at `steps`; elements before it are null. */
export function payloadOf(value: number, steps: readonly (string | number)[]): string {
  const body = steps.reduceRight<unknown>((inner, step) => {
    if (typeof step === 'string') return { [step]: inner };
    return [...Array.from({ length: step }, () => null), inner];
  }, value);
  return JSON.stringify(body);
}
