/** Whether a value has a member of this name. */
export function isMember<N extends string>(value: unknown, name: N): value is Record<N, unknown> {
  return typeof value === 'object' && value !== null && name in value;
}
