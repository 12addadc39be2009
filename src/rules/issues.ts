/**
 * Collecting issues while reading an unknown document: every reader reports issues and continues, so that one
 * answer carries all of them [rules §2.3].
 */

import { didYouMean, nearestName } from '../base/nearest-name.ts';
import { Formulas } from './expression/parse.ts';
import { flowLimits } from './limits.ts';

/** A fault of a flow or trigger, as `details.issues[]` carries it [rules §2.3]. */
export interface Issue {
  readonly code: string;
  readonly message: string;
  /** JSON Pointer into the submitted document. */
  readonly path: string;
  readonly node_id?: string;
  readonly hint?: string;
}

export type Fields = Readonly<Record<string, unknown>>;

/** A JSON object, and not an array. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Maximum length of a message; quoted parts may be as long as the document. */
const messageLengthMaximum = 500;
/** Maximum length of a node id in an issue: longer ones are truncated. */
const nodeIdLengthMaximum = 128;

/** Path of a part of a node in the document, and the member with its expression. */
export interface Place {
  readonly path: string;
  readonly field: string;
}

export class Issues {
  readonly list: Issue[] = [];
  /** Results of readers: refused parts are omitted, so positions in them are not positions in the document. */
  readonly places = new WeakMap<object, Place>();
  /** The expressions of the document. */
  readonly formulas = new Formulas();

  /** No further issue is added: costly ones need not be computed. */
  get isFull(): boolean {
    return this.list.length > flowLimits.issuesMaximum;
  }

  /** Every issue has a hint on how to fix it. */
  add(code: string, path: string, message: string, hint: string, nodeId?: string): void {
    const maximum = flowLimits.issuesMaximum;
    if (this.list.length > maximum) return;
    if (this.list.length === maximum) {
      this.list.push({
        code: 'too-many-issues',
        message: `there are more than ${maximum} issues; these are the first`,
        path: '',
        hint: 'correct these and send the document again',
      });
      return;
    }
    const text = message.length > messageLengthMaximum ? `${message.slice(0, messageLengthMaximum)}…` : message;
    const node = nodeId === undefined ? {} : { node_id: nodeId.slice(0, nodeIdLengthMaximum) };
    this.list.push({ code, message: text, path, ...node, hint });
  }
}

/** Reads the members of one JSON object at a known place of the document, and reports issues. */
export class Reader {
  readonly fields: Fields;
  readonly path: string;
  readonly nodeId: string | undefined;
  readonly issues: Issues;

  constructor(fields: Fields, path: string, nodeId: string | undefined, issues: Issues) {
    this.fields = fields;
    this.path = path;
    this.nodeId = nodeId;
    this.issues = issues;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.fields, name);
  }

  get(name: string): unknown {
    return this.has(name) ? this.fields[name] : undefined;
  }

  fault(code: string, name: string, message: string, hint: string): void {
    const path = name === '' ? this.path : `${this.path}/${pointerPart(name)}`;
    this.issues.add(code, path, message, hint, this.nodeId);
  }

  /** Remembers that `part` was made from this object, with its expression in `field`. */
  placed<T extends object>(part: T, field: string): T {
    this.issues.places.set(part, { path: this.path, field });
    return part;
  }

  /** Reports every member that is not in `known`. */
  onlyKnown(known: readonly string[]): void {
    for (const name of Object.keys(this.fields)) {
      if (known.includes(name)) continue;
      const meant = nearestName(name, known);
      const hint = meant === undefined ? `known fields are ${known.join(', ')}` : didYouMean(meant);
      this.fault('unknown-field', name, `'${name}' is not a known field`, hint);
    }
  }

  text(name: string, lengthMaximum: number): string | undefined {
    const value = this.get(name);
    if (typeof value === 'string' && value.length > 0 && value.length <= lengthMaximum) return value;
    this.fault(
      'invalid-field',
      name,
      `'${name}' must be a text of 1 to ${lengthMaximum} characters`,
      'put it in double quotes',
    );
    return undefined;
  }

  integer(name: string, minimum: number, maximum: number): number | undefined {
    const value = this.get(name);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum && value <= maximum)
      // Adding 0 turns -0 into 0, as it is stored.
      return value + 0;
    this.fault(
      'invalid-field',
      name,
      `'${name}' must be a whole number from ${minimum} to ${maximum}`,
      `for example ${minimum}`,
    );
    return undefined;
  }

  /** The objects of a list, each with its own reader, at most `maximum`. Absent lists are empty unless `required`. */
  list(name: string, maximum: number, required: boolean): Reader[] {
    const value = this.get(name);
    if (value === undefined && !required) return [];
    if (!Array.isArray(value) || value.length > maximum || (required && value.length === 0)) {
      const message = `'${name}' must be a list of ${required ? 1 : 0} to ${maximum} entries`;
      this.fault('invalid-field', name, message, 'for example [{…}, {…}]');
    }
    const readers: Reader[] = [];
    const entries: readonly unknown[] = Array.isArray(value) ? value.slice(0, maximum) : [];
    entries.forEach((entry, index) => {
      const path = `${this.path}/${pointerPart(name)}/${index}`;
      if (isFields(entry)) readers.push(new Reader(entry, path, this.nodeId, this.issues));
      else this.issues.add('invalid-field', path, 'must be an object', 'for example {…}', this.nodeId);
    });
    return readers;
  }

  inner(name: string): Reader | undefined {
    const value = this.get(name);
    if (isFields(value)) return new Reader(value, `${this.path}/${pointerPart(name)}`, this.nodeId, this.issues);
    this.fault('invalid-field', name, `'${name}' must be an object`, `for example {"${name}": {…}}`);
    return undefined;
  }
}

export function pointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** UTF-8 length of a text, without Node's Buffer: this runs in a browser too. */
export function utf8Bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
