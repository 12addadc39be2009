/**
 * Decoding of values that were never JSON text: contexts, inputs and answers of adapters, engines and stores. Such a
 * value may have accessors, a prototype, symbols or cycles, and may change while it is read. So it is copied once into
 * plain frozen data, and only the copy is decoded.
 */
import type { Static, TSchema } from 'typebox';
import { decoder } from '../base/decode.ts';
import { platformLimits } from './limits.ts';

const { value_depth_max: depthMax, value_nodes_max: nodesMax } = platformLimits;

class NotPlain extends Error {}

interface Budget {
  nodes: number;
}

/** The frozen copy that fits `schema`, or null. Never throws, whatever the value's accessors do. */
export function untrusted<S extends TSchema>(schema: S): (value: unknown) => Static<S> | null {
  const decode = decoder(schema);
  return (value) => {
    let copy: unknown;
    try {
      copy = plain(value, 0, { nodes: 0 });
    } catch {
      return null;
    }
    const decoded = decode(copy);
    return decoded.ok ? decoded.value : null;
  };
}

/** An object of those own members of `value` that can be read as data; null if it has none. */
export function ownMembers(value: unknown, names: readonly string[]): object | null {
  if (typeof value !== 'object' || value === null) return null;
  try {
    const found = names.flatMap((name): [string, unknown][] => {
      const property = Object.getOwnPropertyDescriptor(value, name);
      return property !== undefined && 'value' in property ? [[name, property.value]] : [];
    });
    return Object.fromEntries(found);
  } catch {
    return null;
  }
}

function plain(value: unknown, depth: number, budget: Budget): unknown {
  budget.nodes++;
  if (budget.nodes > nodesMax || depth > depthMax) throw new NotPlain();
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value !== 'object') throw new NotPlain();
  return Array.isArray(value) ? plainArray(value, depth, budget) : plainObject(value, depth, budget);
}

function plainArray(value: readonly unknown[], depth: number, budget: Budget): unknown {
  const { length } = value;
  // Own keys are the elements and `length`: no holes, no other members.
  if (length > nodesMax || Reflect.ownKeys(value).length !== length + 1) throw new NotPlain();
  const copy: unknown[] = [];
  for (let index = 0; index < length; index++) copy.push(plain(ownValue(value, String(index)), depth + 1, budget));
  return Object.freeze(copy);
}

function plainObject(value: object, depth: number, budget: Budget): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new NotPlain();
  const copy: Record<string, unknown> = {};
  for (const key of Reflect.ownKeys(value)) {
    if (typeof key !== 'string' || key === '__proto__') throw new NotPlain();
    copy[key] = plain(ownValue(value, key), depth + 1, budget);
  }
  return Object.freeze(copy);
}

function ownValue(value: object, key: string): unknown {
  const property = Object.getOwnPropertyDescriptor(value, key);
  if (property === undefined || !('value' in property) || property.enumerable !== true) throw new NotPlain();
  return property.value;
}
