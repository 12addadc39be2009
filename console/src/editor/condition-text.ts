/** A threshold as an expression [rules §5.1]: where it begins to hold, where it lets go, and for how long it must have held. */

export interface BuiltCondition {
  /** The name that is compared. */
  readonly name: string;
  readonly side: 'above' | 'below';
  /** A number, or a name that has one. */
  readonly value: string;
  /** Where it stops to hold, on the other side of the value; empty for the value itself. */
  readonly release: string;
  /** Seconds that it must have held; 0 for at once. */
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

/** Whether it lets go on the right side; names are not compared. */
export function releasesBehind({ side, value, release }: BuiltCondition): boolean {
  const [on, off] = [Number(value), Number(release)];
  if (release === '' || Number.isNaN(on) || Number.isNaN(off)) return true;
  return side === 'above' ? off <= on : off >= on;
}
