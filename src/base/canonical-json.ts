/**
 * RFC 8785 canonical JSON: one text per value, suitable for digests. Refuses NaN, infinities and lone surrogates. Implemented
 * here because frames are long arrays of numbers, which JSON.stringify writes many times faster than a
 * recursive walk; a property test compares it with the `canonicalize` library, byte for byte.
 */

import type { Steps } from './turns.ts';

export function canonicalJson(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? arrayText(value) : objectText(value);
  return scalarText(value);
}

function scalarText(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('a number without JSON form');
  if (typeof value === 'string' && !value.isWellFormed()) throw new Error('a lone surrogate has no JSON form');
  // RFC 8785 writes numbers and strings as ECMAScript does.
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new Error('the value has no JSON form');
  return text;
}

/** Here and below, texts are appended, not joined: the engine then copies the characters once, at the end. */
function arrayText(values: readonly unknown[]): string {
  if (isPlain(values)) {
    const plain = JSON.stringify(values);
    // A lone surrogate is written as an escape; so is a backslash before a "ud", which the walk below lets pass.
    if (!plain.includes('\\ud')) return plain;
  }
  let text = '[';
  for (let index = 0; index < values.length; index++)
    text += index === 0 ? canonicalJson(values[index]) : `,${canonicalJson(values[index])}`;
  return `${text}]`;
}

/** Only members that JSON.stringify writes as this file does. A loop, because a callback per member doubles the time. */
function isPlain(values: readonly unknown[]): boolean {
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) return false;
    } else if (typeof value !== 'string' && value !== null && typeof value !== 'boolean') return false;
  }
  return true;
}

function sortedMembers(value: object): [string, unknown][] {
  if ('toJSON' in value && typeof value.toJSON === 'function') throw new Error('only plain data has a canonical form');
  // `<` compares UTF-16 code units, which is the order that RFC 8785 asks for.
  const members: [string, unknown][] = Object.entries(value);
  return members.sort(([a], [b]) => (a < b ? -1 : 1));
}

function objectText(value: object): string {
  let text = '{';
  for (const [name, member] of sortedMembers(value))
    if (member !== undefined) text += `${text === '{' ? '' : ','}${scalarText(name)}:${canonicalJson(member)}`;
  return `${text}}`;
}

/** Below this depth a value is written in one step: above it lie the nodes of a rule's documents, which can be many. */
const stepDepth = 5;

/** As `canonicalJson`, one step per member near the root, because a document may be as large as two requests. */
export function* canonicalSteps(value: unknown, depth = 0): Steps<string> {
  if (depth >= stepDepth || typeof value !== 'object' || value === null) return canonicalJson(value);
  yield;
  if (Array.isArray(value)) {
    if (isPlain(value)) return canonicalJson(value);
    let text = '[';
    for (const [index, member] of value.entries())
      text += `${index === 0 ? '' : ','}${yield* canonicalSteps(member, depth + 1)}`;
    return `${text}]`;
  }
  let text = '{';
  for (const [name, member] of sortedMembers(value))
    if (member !== undefined)
      text += `${text === '{' ? '' : ','}${scalarText(name)}:${yield* canonicalSteps(member, depth + 1)}`;
  return `${text}}`;
}
