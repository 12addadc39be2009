/** Values that attack a decoder: prototypes, accessors, cycles, proxies. */

class Instance {
  get kind(): string {
    return 'instance';
  }
}

/** Variants of a good value that every decoder must refuse without throwing. */
export function hostileVariants(good: object): readonly { readonly what: string; readonly value: unknown }[] {
  const [first = ''] = Object.keys(good);
  const firstValue: unknown = Object.entries(good)[0]?.[1];
  const without = Object.fromEntries(Object.entries(good).slice(1));
  const cycle: Record<string, unknown> = { ...good };
  cycle['self'] = cycle;
  const throwing = (): never => {
    throw new Error('touched');
  };
  return [
    { what: 'nothing', value: undefined },
    { what: 'null', value: null },
    { what: 'a text', value: JSON.stringify(good) },
    { what: 'an array', value: [good] },
    { what: 'a function', value: Object.assign(() => undefined, good) },
    { what: 'an unknown member', value: { ...good, extra: 1 } },
    { what: 'a missing member', value: without },
    { what: 'an inherited member', value: Object.assign(Object.create({ [first]: firstValue }) as object, without) },
    { what: 'a member __proto__', value: JSON.parse(`{"__proto__":{},${JSON.stringify(good).slice(1)}`) },
    { what: 'a member constructor', value: { ...good, constructor: { prototype: {} } } },
    { what: 'a member of symbol', value: { ...good, [Symbol('extra')]: 1 } },
    { what: 'an undefined member', value: { ...good, extra: undefined } },
    {
      what: 'an accessor',
      value: Object.defineProperty({ ...without }, first, { get: () => firstValue, enumerable: true }),
    },
    { what: 'a hidden member', value: Object.defineProperty({ ...without }, first, { value: firstValue }) },
    { what: 'an instance of a class', value: Object.assign(new Instance(), good) },
    { what: 'a cycle', value: cycle },
    { what: 'a member as array', value: { ...good, [first]: [firstValue] } },
    { what: 'a proxy that throws', value: new Proxy(good, { ownKeys: throwing, getPrototypeOf: throwing }) },
    { what: 'a proxy without target', value: revoked(good) },
  ];
}

function revoked(of: object): object {
  const { proxy, revoke } = Proxy.revocable({ ...of }, {});
  revoke();
  return proxy;
}
