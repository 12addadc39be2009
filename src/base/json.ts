/**
 * JSON from outside, strictly. `JSON.parse` keeps the last of duplicate members and accepts `__proto__`; both would let
 * a document mean something else than it shows, so both are refused, as is nesting beyond a limit.
 */

export const jsonDepthMaximum = 100;

/** Which rule a text breaks, by name. */
type JsonRule = 'json' | 'depth' | 'proto_member' | 'duplicate_member';

export class JsonError extends Error {
  readonly rule: JsonRule;
  constructor(message: string, rule: JsonRule) {
    super(message);
    this.rule = rule;
  }
}

/** Parses `text` or throws a JsonError whose message may be shown to the caller. */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JsonError('is not valid JSON', 'json');
  }
  checkMembers(text);
  return value;
}

/** One pass over a text that is known to be valid JSON: depth, duplicate members, `__proto__`. */
function checkMembers(text: string): void {
  const open: (Set<string> | null)[] = [];
  let expectKey = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') {
      const end = endOfString(text, at);
      const members = open.at(-1);
      if (expectKey && members) noteMember(members, JSON.parse(text.slice(at, end + 1)) as string);
      expectKey = false;
      at = end;
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? new Set() : null);
      if (open.length > jsonDepthMaximum) {
        throw new JsonError(`is nested deeper than ${jsonDepthMaximum} levels`, 'depth');
      }
      expectKey = character === '{';
    } else if (character === '}' || character === ']') {
      open.pop();
      expectKey = false;
    } else if (character === ',') {
      expectKey = open.at(-1) !== null;
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

function endOfString(text: string, from: number): number {
  for (let at = from + 1; ; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at;
  }
}
