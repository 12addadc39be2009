/** The RFC 6902 operations add, replace and remove, for variants of messages. Returns a patched copy. */

export interface PatchOperation {
  readonly op: 'add' | 'replace' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

type Container = Record<string, unknown> | unknown[];

export function patched<T>(base: T, operations: readonly PatchOperation[]): T {
  const holder = { root: structuredClone(base) };
  for (const operation of operations) apply(holder, operation);
  return holder.root;
}

function apply(holder: Record<string, unknown>, { op, path, value }: PatchOperation): void {
  const steps = ['root', ...path.split('/').slice(1)].map((text) => text.replaceAll('~1', '/').replaceAll('~0', '~'));
  const name = steps.pop() ?? '';
  const target = steps.reduce<Container>((container, each) => Reflect.get(container, each) as Container, holder);
  if (op !== 'add' && !(name in target)) throw new Error(`nothing at ${path}`);
  if (Array.isArray(target)) {
    const index = name === '-' ? target.length : Number(name);
    if (op === 'replace') target[index] = structuredClone(value);
    else target.splice(index, op === 'remove' ? 1 : 0, ...(op === 'add' ? [structuredClone(value)] : []));
  } else if (op === 'remove') Reflect.deleteProperty(target, name);
  else target[name] = structuredClone(value);
}
