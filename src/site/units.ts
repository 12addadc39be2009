/** Units of one dimension, and the factor between them [points §2]: kW and W, never W and Wh. */

const prefixes: Readonly<Record<string, number>> = { m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9 };
/** Units that may have a prefix; each is a separate dimension. */
const scaledUnits: readonly string[] = ['W', 'VA', 'var', 'Wh', 'VAh', 'varh', 'V', 'A', 'Ah', 'Hz'];

interface Unit {
  readonly dimension: string;
  /** Size in the base unit of its dimension. */
  readonly factor: number;
}

const units = new Map<string, Unit>([
  ...scaledUnits.flatMap((dimension) =>
    Object.entries(prefixes).map(([prefix, factor]): [string, Unit] => [prefix + dimension, { dimension, factor }]),
  ),
  ['%', { dimension: '1', factor: 0.01 }],
  ['1', { dimension: '1', factor: 1 }],
  ['ms', { dimension: 's', factor: 1e-3 }],
  ['s', { dimension: 's', factor: 1 }],
  ['min', { dimension: 's', factor: 60 }],
  ['h', { dimension: 's', factor: 3600 }],
  ['°C', { dimension: '°C', factor: 1 }],
  ['C', { dimension: '°C', factor: 1 }],
]);

/** The factor from `from` to `to`; undefined if the dimensions differ or a unit is unknown. */
export function unitFactor(from: string, to: string): number | undefined {
  if (from === to) return 1;
  const [a, b] = [units.get(from), units.get(to)];
  if (a === undefined || b === undefined || a.dimension !== b.dimension) return undefined;
  // Powers of ten and sixties: the larger one is a whole multiple, so that one rounding is enough.
  return a.factor >= b.factor ? Math.round(a.factor / b.factor) : 1 / Math.round(b.factor / a.factor);
}
