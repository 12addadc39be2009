/** A threshold as an expression [rules §5.1]: threshold, release value, and duration. */

export interface BuiltCondition {
  /** The compared name. */
  readonly name: string;
  readonly side: 'above' | 'below';
  /** A number, or a name with a number. */
  readonly value: string;
  /** Release value, on the other side of the threshold; empty for the threshold itself. */
  readonly release: string;
  /** Minimum duration in seconds; 0 for none. */
  readonly seconds: number;
}

export function conditionText({ name, side, value, release, seconds }: BuiltCondition): string {
  const held = (condition: string): string => (seconds === 0 ? condition : `held(${condition}, ${seconds})`);
  if (release === '') return held(`${name} ${side === 'above' ? '>' : '<'} ${value}`);
  const [x, on, off] = side === 'above' ? [name, value, release] : [`-${name}`, negative(value), negative(release)];
  return held(`hysteresis(${x}, ${on}, ${off}) == 1`);
}

function negative(text: string): string {
  return text.startsWith('-') ? text.slice(1) : `-${text}`;
}

/** Whether the release value is on the right side; names are not compared. */
export function releasesBehind({ side, value, release }: BuiltCondition): boolean {
  const [on, off] = [Number(value), Number(release)];
  if (release === '' || Number.isNaN(on) || Number.isNaN(off)) return true;
  return side === 'above' ? off <= on : off >= on;
}
