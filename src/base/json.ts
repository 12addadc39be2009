/**
 * Strict JSON parser for input from outside. `JSON.parse` keeps the last of duplicate members, accepts `__proto__`, turns a number
 * that is too large into an infinity and an escaped half of a surrogate pair into a text that no file or digest can
 * hold. Each could make a document mean something else than it shows, so each is refused, as is nesting beyond a limit.
 */
import { atOnce, type Steps } from './turns.ts';

export const jsonDepthMaximum = 100;

/** Neither an array nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The violated rule, by name. */
type JsonRule = 'json' | 'depth' | 'proto_member' | 'duplicate_member' | 'number_overflow' | 'lone_surrogate';

/** Whether a number that overflows refuses the text here, or becomes an infinity that the reader's own check names. */
export type NumberOverflow = 'refused' | 'kept';

export class JsonError extends Error {
  readonly rule: JsonRule;
  constructor(message: string, rule: JsonRule) {
    super(message);
    this.rule = rule;
  }
}

/** Parses `text` or throws a JsonError whose message may be shown to the caller. */
export function parseJson(text: string, overflow: NumberOverflow = 'refused'): unknown {
  return atOnce(parseJsonSteps(text, overflow));
}

/** As `parseJson`, in steps, for a text of up to a request. */
export function* parseJsonSteps(text: string, overflow: NumberOverflow = 'refused'): Steps<unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JsonError('is not valid JSON', 'json');
  }
  yield;
  yield* check(text, overflow);
  return value;
}

const codes = {
  quote: 0x22,
  comma: 0x2c,
  openArray: 0x5b,
  backslash: 0x5c,
  closeArray: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

/** Characters scanned in one step. */
const stepCharacters = 65_536;

/** One pass over a text that is known to be valid JSON: depth, members, texts and numbers. */
function* check(text: string, overflow: NumberOverflow): Steps<void> {
  const open: (Set<string> | null)[] = [];
  // Checked once for the whole text: most texts have none.
  const isSuspect = mayBreakPair(text);
  let expectKey = false;
  let stepEnd = stepCharacters;
  for (let at = 0; at < text.length; at++) {
    if (at >= stepEnd) {
      yield;
      stepEnd = at + stepCharacters;
    }
    const code = text.charCodeAt(at);
    if (code === codes.quote) {
      const end = endOfString(text, at);
      if (isSuspect) checkUnicode(text.slice(at, end + 1));
      const members = expectKey ? open.at(-1) : null;
      if (members) noteMember(members, JSON.parse(text.slice(at, end + 1)) as string);
      expectKey = false;
      at = end;
    } else if (code === codes.openObject || code === codes.openArray) {
      open.push(code === codes.openObject ? new Set() : null);
      if (open.length > jsonDepthMaximum) {
        throw new JsonError(`is nested deeper than ${jsonDepthMaximum} levels`, 'depth');
      }
      expectKey = code === codes.openObject;
    } else if (code === codes.closeObject || code === codes.closeArray) {
      open.pop();
      expectKey = false;
    } else if (code === codes.comma) {
      expectKey = open.at(-1) !== null;
    } else if (isNumberStart(code)) {
      at = checkNumber(text, at, overflow) - 1;
    }
  }
}

function noteMember(members: Set<string>, name: string): void {
  if (name === '__proto__') {
    throw new JsonError("has a member named '__proto__', which is not allowed", 'proto_member');
  }
  if (members.has(name)) {
    throw new JsonError(`has the member ${JSON.stringify(name.slice(0, 64))} twice in one object`, 'duplicate_member');
  }
  members.add(name);
}

/** Only an escape can introduce half of a surrogate pair: the bytes themselves were valid UTF-8. */
function mayBreakPair(text: string): boolean {
  return text.includes('\\u') || !text.isWellFormed();
}

/** For a text in which some token may be invalid. */
function checkUnicode(token: string): void {
  if (mayBreakPair(token) && !(JSON.parse(token) as string).isWellFormed())
    throw new JsonError('has a text that is not valid Unicode', 'lone_surrogate');
}

function endOfString(text: string, from: number): number {
  for (let at = from + 1; ; at++) {
    const code = text.charCodeAt(at);
    if (code === codes.backslash) at++;
    else if (code === codes.quote) return at;
  }
}

function isNumberStart(code: number): boolean {
  return code === 0x2d || (code >= 0x30 && code <= 0x39);
}

/** The largest number has 309 digits. */
const plainDigitsMax = 308;

/**
 * Refuses a number that is too large; returns the index after its last character. Only those with an exponent or hundreds of digits are
 * converted, because no other number can overflow.
 */
function checkNumber(text: string, from: number, overflow: NumberOverflow): number {
  const plainEnd = endOfDigits(text, from);
  const hasExponent = (text.charCodeAt(plainEnd) | 0x20) === 0x65;
  const end = hasExponent ? endOfDigits(text, plainEnd + 1) : plainEnd;
  const mayOverflow = overflow === 'refused' && (hasExponent || end - from > plainDigitsMax);
  if (mayOverflow && !Number.isFinite(Number(text.slice(from, end))))
    throw new JsonError('has a number that is too large', 'number_overflow');
  return end;
}

/** Digits, points and signs: between "+" and "9" a valid text contains only these and the comma. */
function endOfDigits(text: string, from: number): number {
  for (let at = from; ; at++) {
    const code = text.charCodeAt(at);
    if (!(code >= 0x2b && code <= 0x39 && code !== codes.comma)) return at;
  }
}
