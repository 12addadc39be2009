/**
 * Conversion between the raw value of a device and the engineering value of its point [points §2]. A scale such as 0.1 has no exact double:
 * a raw value is divided by its whole inverse instead, so that 33 is 3.3, not 3.3000000000000003.
 */

export interface Scaling {
  readonly scale: number;
  readonly offset: number;
}

/** raw × scale + offset. */
export function engineeringValue(raw: number, { scale, offset }: Scaling): number {
  const inverse = wholeInverse(scale);
  return (inverse === null ? raw * scale : raw / inverse) + offset;
}

/** (value − offset) ÷ scale. A negative scale would make -0 of 0, which a register of floats keeps. */
export function rawValue(value: number, { scale, offset }: Scaling): number {
  const inverse = wholeInverse(scale);
  const raw = inverse === null ? (value - offset) / scale : (value - offset) * inverse;
  return raw === 0 ? 0 : raw;
}

/** 10 for 0.1; null for a number such as 2 or 0.3. */
export function wholeInverse(fraction: number): number | null {
  const inverse = Math.round(1 / fraction);
  return inverse !== 0 && 1 / inverse === fraction ? inverse : null;
}
