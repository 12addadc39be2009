/** What a value must be, by the schema keyword that it violates. The validator's own messages describe schemas instead. */

const types: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
};

const formats: Readonly<Record<string, string>> = {
  'date-time': 'a time with its offset, such as 2026-07-11T06:00:00Z',
};

/** Undefined for an unlisted type. */
export function typeInWords(type: unknown): string | undefined {
  return typeof type === 'string' ? types[type] : undefined;
}

/** Null for an unlisted keyword. */
export function keywordInWords(keyword: string, params: object): string | null {
  const limit = 'limit' in params ? Number(params.limit) : Number.NaN;
  switch (keyword) {
    case 'type':
      return 'type' in params ? must(typeInWords(params.type)) : null;
    case 'format':
      return 'format' in params ? must(formats[String(params.format)]) : null;
    case 'minimum':
      return `must be at least ${limit}`;
    case 'maximum':
      return `must be at most ${limit}`;
    case 'exclusiveMinimum':
      return `must be more than ${limit}`;
    case 'exclusiveMaximum':
      return `must be less than ${limit}`;
    case 'multipleOf':
      return 'multipleOf' in params ? `must be a multiple of ${String(params.multipleOf)}` : null;
    case 'minLength':
      return `must have at least ${counted(limit, 'character')}`;
    case 'maxLength':
      return `must have at most ${counted(limit, 'character')}`;
    case 'minItems':
      return `must have at least ${counted(limit, 'entry', 'entries')}`;
    case 'maxItems':
      return `must have at most ${counted(limit, 'entry', 'entries')}`;
    case 'minProperties':
      return `must have at least ${counted(limit, 'member')}`;
    case 'maxProperties':
      return `must have at most ${counted(limit, 'member')}`;
    case 'uniqueItems':
      return 'must not contain duplicates';
    default:
      return null;
  }
}

function must(be: string | undefined): string | null {
  return be === undefined ? null : `must be ${be}`;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
