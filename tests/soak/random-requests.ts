/** Random requests from the description of the API, the same for a seed: mostly close to what it requires, sometimes far from it. */
import type { Random } from '../../src/testing/world/random.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

export interface DescribedApi {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface RandomRequest {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** They end the session that sends them, or never end. */
const leftOut = /^(post|delete) \/session|\/stream$/;
/** Texts in a URL are cut here: longer ones are refused before any operation sees them. */
const urlTextMax = 800;
const depthMax = 8;

/** Unintended values. */
const strange: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  1.5,
  9_007_199_254_740_992,
  '',
  ' ',
  'x',
  '\u0000',
  '\u{1f600}',
  'é'.repeat(300),
  'a'.repeat(5000),
  '../../etc/passwd',
  '__proto__',
  'constructor',
  "'; DROP TABLE rules; --",
  '%',
  '[]',
  'NaN',
  '-1',
  '0',
  '99999999999999999999',
  '2026-02-30T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  [],
  {},
  [[]],
  { a: { b: { c: [] } } },
  Array.from({ length: 50 }, () => 1),
];
const words = ['x', 'abc', 'rule one', 'automation-rule:1', 'override-active', 'soc_lower', 'plant'];
const numbers = ['1', '2', '3', '10', '100', '500', '9007199254740992', '2026-11-27T00:00:00Z', '1:1'];

export class RandomRequests {
  readonly #random: Random;
  readonly #operations;
  readonly #schemas: Readonly<Record<string, Schema>>;

  constructor(random: Random, { paths, components }: DescribedApi) {
    this.#random = random;
    this.#schemas = components?.schemas ?? {};
    this.#operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item)
        .map(([method, operation]) => ({ path, method, operation }))
        .filter(({ method }) => !leftOut.test(`${method} ${path}`)),
    );
  }

  next(): RandomRequest {
    const random = this.#random;
    const { path, method, operation } = random.pick(this.#operations);
    const schema = operation.requestBody?.content['application/json']?.schema;
    const body = schema === undefined ? undefined : this.#value(schema);
    if (typeof body === 'object' && body !== null && !Array.isArray(body) && random.chance(0.9))
      Object.assign(body, { confirmed: true });
    return {
      operation: `${method} ${path}`,
      method: method.toUpperCase(),
      path: this.#url(path, operation.parameters ?? []),
      body,
      headers: {
        ...(random.chance(0.95) && { 'x-svc-confirmed': 'true' }),
        ...(random.chance(0.02) && { 'content-type': random.pick(['text/plain', 'application/json; charset=latin1']) }),
        ...(random.chance(0.05) && { 'if-match': random.pick(['"1"', '1', '*', 'W/"1"', '""']) }),
      },
    };
  }

  #url(template: string, parameters: readonly Parameter[]): string {
    let path = template;
    const query = new URLSearchParams();
    for (const { name, in: place, required, schema } of parameters) {
      if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(this.#place(name, schema)) || 'x');
      else if (place === 'query' && (required === true || this.#random.chance(0.35)))
        query.append(name, urlText(this.#value(schema)));
    }
    return query.size === 0 ? path : `${path}?${query}`;
  }

  /** Existing things, more often than not. */
  #place(name: string, schema: Schema): string {
    if (this.#random.chance(0.25)) return urlText(this.#value(schema));
    if (name === 'point_type') return this.#random.pick(['measurement', 'action']);
    return this.#random.pick(['1', '1', '2', '3', '4', 'soc_lower', 'override-active', 'plant']);
  }

  #value(schema: Schema, depth = 0): unknown {
    const random = this.#random;
    if (random.chance(0.06) || depth > depthMax) return structuredClone(random.pick(strange));
    const named = schema['$ref'];
    if (typeof named === 'string') return this.#value(this.#schemas[named.split('/').at(-1) ?? ''] ?? {}, depth + 1);
    if ('const' in schema) return schema['const'];
    if (Array.isArray(schema['enum'])) return random.pick(schema['enum'] as readonly unknown[]);
    const branches = (schema['anyOf'] ?? schema['oneOf']) as readonly Schema[] | undefined;
    if (branches !== undefined) return this.#value(random.pick(branches), depth + 1);
    switch (schema['type']) {
      case 'integer':
      case 'number':
        return this.#number(schema);
      case 'boolean':
        return random.chance(0.5);
      case 'string':
        return this.#text(schema);
      case 'array':
        return Array.from({ length: random.below(4) }, () => this.#value((schema['items'] ?? {}) as Schema, depth + 1));
      case 'object':
        return this.#object(schema, depth);
      default:
        return structuredClone(random.pick(strange));
    }
  }

  #number({ minimum = 0, maximum = 10 }: { readonly minimum?: number; readonly maximum?: number }): number {
    return this.#random.pick([minimum, maximum, minimum - 1, maximum + 1, 1, 2, 3, 0.5, -3.25, 1e-320]);
  }

  #text({ pattern = '', minLength = 3, maxLength = 20 }: Readonly<Record<string, unknown>>): string {
    if (String(pattern).includes('[0-9]')) return this.#random.pick(numbers);
    return this.#random.pick([...words, 'a'.repeat(Number(minLength)), 'a'.repeat(Number(maxLength) + 1)]);
  }

  #object(schema: Schema, depth: number): Record<string, unknown> {
    const required = (schema['required'] ?? []) as readonly string[];
    const made: Record<string, unknown> = {};
    for (const [name, member] of Object.entries((schema['properties'] ?? {}) as Record<string, Schema>))
      if (this.#random.chance(required.includes(name) ? 0.97 : 0.4)) made[name] = this.#value(member, depth + 1);
    if (this.#random.chance(0.03)) made[this.#random.pick(['extra', 'toString'])] = 1;
    return made;
  }
}

function urlText(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, urlTextMax);
}
