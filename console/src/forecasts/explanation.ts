/**
 * A processor's explanation of its forecast: untrusted text, parsed strictly. Anything but the form of the reference forecaster's
 * explanation is omitted.
 */

interface ShareSeen {
  readonly name: string;
  readonly share: number;
}

export interface ExplanationSeen {
  readonly models: readonly ShareSeen[];
  readonly inputs: readonly ShareSeen[];
  readonly shift: { readonly since: string; readonly factor: number | null; readonly added: number | null } | null;
  readonly lost: readonly string[];
  readonly doubted: number;
}

const namedMax = 3;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Null when the details hold no readable explanation. */
export function explanationOf(details: object | undefined): ExplanationSeen | null {
  if (!isObject(details) || !isObject(details['explanation'])) return null;
  const { models, inputs, level_shift, lost_inputs, newest_cells_left_out } = details['explanation'];
  const seen = {
    models: sharesOf(models),
    inputs: sharesOf(inputs),
    shift: shiftOf(level_shift),
    lost: namesOf(lost_inputs),
    doubted: typeof newest_cells_left_out === 'number' ? newest_cells_left_out : 0,
  };
  return seen.models.length === 0 ? null : seen;
}

/** The strongest few. */
function sharesOf(value: unknown): ShareSeen[] {
  if (!Array.isArray(value)) return [];
  const found = value.flatMap((each: unknown): ShareSeen[] => {
    if (!isObject(each)) return [];
    const { name, share } = each;
    return typeof name === 'string' && typeof share === 'number' ? [{ name, share }] : [];
  });
  return found.sort((one, other) => other.share - one.share).slice(0, namedMax);
}

function shiftOf(value: unknown): ExplanationSeen['shift'] {
  if (!isObject(value) || typeof value['since'] !== 'string') return null;
  const { since, factor, added } = value;
  return {
    since,
    factor: typeof factor === 'number' ? factor : null,
    added: typeof added === 'number' ? added : null,
  };
}

function namesOf(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((each: unknown) => (isObject(each) && typeof each['name'] === 'string' ? [each['name']] : []));
}
