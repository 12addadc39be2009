/**
 * The issues of a value that did not decode: one per field, unknown members by name. Of a union only the intended shape is
 * reported; if it is unclear which one was intended, the discriminating values are listed, or else what each shape must have.
 */
import type { TSchema } from 'typebox';
import { Settings } from 'typebox/system';
import { keywordInWords, typeInWords } from './decode-words.ts';
import { isObject } from './json.ts';
import { didYouMean, nearestName } from './nearest-name.ts';

export interface DecodeIssue {
  /** JSON Pointer into the decoded value; `` is the value itself. */
  readonly path: string;
  readonly message: string;
}

export interface SchemaError {
  readonly keyword: string;
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly message: string;
  readonly params: object;
}

/**
 * Maximum number of validator errors for one value. The validator's own bound of 8 cuts off a union of three shapes, and
 * then the errors do not show that it was a union.
 */
const errorsMax = 64;
Settings.Set({ maxErrors: errorsMax });

export function issuesOf(errors: readonly SchemaError[], schema: TSchema, value: unknown): DecodeIssue[] {
  const choices = errors.flatMap((error) => (error.keyword === 'anyOf' ? [choiceOf(error, schema, value)] : []));
  const byPath = new Map<string, DecodeIssue>();
  for (const error of errors) {
    // Unknown members are reported once each by the 'boolean' error at their own path.
    if (error.keyword === 'additionalProperties') continue;
    if (choices.some((choice) => isOutside(error, choice))) continue;
    const choice = choices.find((each) => each.error === error);
    const issue = choice === undefined ? issueOf(error, schema) : choice.issue;
    if (issue !== null && !byPath.has(issue.path)) byPath.set(issue.path, issue);
  }
  return byPath.size === 0 ? [{ path: '', message: 'is not valid' }] : [...byPath.values()];
}

function issueOf(error: SchemaError, schema: TSchema): DecodeIssue {
  const message = error.keyword === 'boolean' ? unknownField(error, schema) : messageOf(error, schema);
  return { path: error.instancePath, message };
}

function unknownField({ instancePath, schemaPath }: SchemaError, schema: TSchema): string {
  const word = unescaped(instancePath.split('/').at(-1) ?? '');
  const known = Object.keys(properties(schemaAt(schema, schemaPath.replace(/\/additionalProperties$/, ''))) ?? {});
  // The unit of a limit is easily forgotten.
  const meant = nearestName(word, known) ?? known.find((name) => name.startsWith(`${word}_`));
  return meant === undefined ? 'is not a known field' : `is not a known field; ${didYouMean(meant)}`;
}

/** A choice between shapes, none of which the value has. */
interface Choice {
  readonly error: SchemaError;
  /** The intended shape, whose errors are reported. */
  readonly meant: number | null;
  /** Reported instead of the errors of any shape. */
  readonly issue: DecodeIssue | null;
}

function choiceOf(error: SchemaError, schema: TSchema, value: unknown): Choice {
  const { instancePath: path } = error;
  const { anyOf } = schemaAt(schema, error.schemaPath);
  const shapes: readonly unknown[] = Array.isArray(anyOf) ? anyOf : [];
  const given = valueAt(value, path);
  const objects = [...shapes.entries()].filter(([, shape]) => properties(shape) !== null);
  const one = objects.length === 1 ? objects[0]?.[0] : undefined;
  if (!isObject(given)) return plainFault(error, shapes, given);
  if (one !== undefined) return { error, meant: one, issue: null };
  const name = tellingMember(objects.map(([, shape]) => shape));
  if (name === null) {
    const meant = nearestShape(objects, given);
    return {
      error,
      meant,
      issue: meant === null ? { path, message: mustHave(objects.map(([, shape]) => shape)) } : null,
    };
  }
  const told = objects.find(([, shape]) => constantAt(shape, name) === given[name]);
  if (told !== undefined) return { error, meant: told[0], issue: null };
  const issue = { path: `${path}/${name}`, message: oneOf(objects.map(([, shape]) => constantAt(shape, name))) };
  return { error, meant: null, issue };
}

/** Among shapes that are not objects, the one with the type of the value is meant. */
function plainFault(error: SchemaError, shapes: readonly unknown[], given: unknown): Choice {
  const said = (message: string): Choice => ({
    error,
    meant: null,
    issue: { path: error.instancePath, message },
  });
  const choice = plainChoice(shapes);
  if (choice !== null) return said(choice);
  const alike = [...shapes.keys()].filter((at) => hasTypeOf(shapes[at], given));
  if (alike[0] !== undefined && alike.length === 1) return { error, meant: alike[0], issue: null };
  // The value is there, so the shape of an absent one does not apply.
  const present = shapes.filter((shape) => !isObject(shape) || shape.type !== 'undefined');
  const words = present.map((shape) => (isObject(shape) ? typeInWords(shape.type) : undefined));
  return said(words.includes(undefined) ? error.message : `must be ${[...new Set(words)].join(' or ')}`);
}

function hasTypeOf(shape: unknown, given: unknown): boolean {
  if (!isObject(shape)) return false;
  if (given === null) return shape.type === 'null';
  if (Array.isArray(given)) return shape.type === 'array';
  return shape.type === typeof given || (shape.type === 'integer' && typeof given === 'number');
}

/** True for the error of a shape that was not intended. */
function isOutside({ schemaPath, instancePath }: SchemaError, { error, meant }: Choice): boolean {
  const shapes = `${error.schemaPath}/anyOf/`;
  if (!schemaPath.startsWith(shapes)) return false;
  if (instancePath !== error.instancePath && !instancePath.startsWith(`${error.instancePath}/`)) return false;
  return schemaPath.slice(shapes.length).split('/')[0] !== String(meant);
}

/** The member whose constant distinguishes the shapes. */
function tellingMember(shapes: readonly unknown[]): string | null {
  const names = Object.keys(properties(shapes[0]) ?? {});
  return names.find((name) => shapes.every((shape) => constantAt(shape, name) !== undefined)) ?? null;
}

/** Position of the one shape that knows the most members of the value; null where two know as many. */
function nearestShape(shapes: readonly (readonly [number, unknown])[], given: object): number | null {
  const names = Object.keys(given);
  const ranked = shapes
    .map(([at, shape]) => ({ at, common: names.filter((name) => Object.hasOwn(properties(shape) ?? {}, name)).length }))
    .toSorted((a, b) => b.common - a.common);
  const [first, second] = ranked;
  return first === undefined || first.common === second?.common ? null : first.at;
}

/** What a value must have to be one of the shapes, by their required members. */
function mustHave(shapes: readonly unknown[]): string {
  const required = shapes.map((shape) => {
    const names: readonly unknown[] = isObject(shape) && Array.isArray(shape.required) ? shape.required : [];
    return names.map((name) => JSON.stringify(name)).join(' and ');
  });
  return `must have ${required.join(', or ')}`;
}

function constantAt(shape: unknown, name: string): unknown {
  const member = properties(shape)?.[name];
  return isObject(member) ? member.const : undefined;
}

function properties(shape: unknown): Record<string, unknown> | null {
  return isObject(shape) && isObject(shape.properties) ? shape.properties : null;
}

/** Allowed words in place of an object; null if the alternatives include other types. */
function plainChoice(shapes: readonly unknown[]): string | null {
  const words: unknown[] = [];
  let objects = false;
  for (const shape of shapes) {
    if (!isObject(shape)) return null;
    const listed: readonly unknown[] = Array.isArray(shape.enum) ? shape.enum : [];
    if ('const' in shape) words.push(shape.const);
    else if (listed.length > 0) words.push(...listed);
    else if (shape.type === 'null') words.push(null);
    else if (properties(shape) !== null) objects = true;
    else return null;
  }
  if (words.length === 0) return 'must be an object';
  return objects ? `${oneOf(words)}, or an object` : oneOf(words);
}

/** As text where possible: the description of a pattern, the members of a union. */
function messageOf(error: SchemaError, schema: TSchema): string {
  const { params } = error;
  if ('allowedValues' in params && Array.isArray(params.allowedValues)) return oneOf(params.allowedValues);
  if ('allowedValue' in params) return `must be ${JSON.stringify(params.allowedValue)}`;
  if ('requiredProperties' in params && Array.isArray(params.requiredProperties)) {
    return `must have ${params.requiredProperties.map((name) => JSON.stringify(name)).join(', ')}`;
  }
  const place = schemaAt(schema, error.schemaPath);
  if (error.keyword === 'pattern' && typeof place.description === 'string') return `must be ${place.description}`;
  return keywordInWords(error.keyword, params) ?? error.message;
}

function oneOf(values: readonly unknown[]): string {
  return `must be one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
}

/** The part of a schema that an error's path (`#/properties/…`) points to; empty when there is none. */
function schemaAt(schema: TSchema, path: string): Record<string, unknown> {
  const place = valueAt(schema, path);
  return isObject(place) ? place : {};
}

/** A part of a JSON Pointer as the name of a member. */
function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The value at a JSON Pointer, with or without a leading `#`; undefined without one. */
function valueAt(whole: unknown, path: string): unknown {
  let place = whole;
  for (const part of path.split('/').slice(1)) {
    const name = unescaped(part);
    place =
      typeof place === 'object' && place !== null && Object.hasOwn(place, name) ? Reflect.get(place, name) : undefined;
  }
  return place;
}
