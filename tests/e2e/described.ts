/**
 * Compares every answer of a running service with its own description: a status, a member or a type that the description lacks
 * fails the test that made the request.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

export interface Described {
  readonly openapi: string;
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Response>> }>>>
  >;
  readonly components: { readonly schemas: object };
}

interface Answered {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

export interface AnswerCheck {
  /** The answer's deviation from the description; null when they agree, or when the route is not described. */
  faultOf(answered: Answered): string | null;
}

export function createAnswerCheck(description: Described): AnswerCheck {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'api', components: description.components });
  const routes = Object.entries(description.paths).map(([template, operations]) => ({
    pattern: new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
    operations,
  }));
  const compiled = new Map<object, ValidateFunction>();
  const validate = (schema: object): ValidateFunction => {
    const known = compiled.get(schema);
    if (known !== undefined) return known;
    const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components')) as object;
    const made = ajv.compile(absolute);
    compiled.set(schema, made);
    return made;
  };
  return {
    faultOf({ method, path, status, type, text }) {
      const plainPath = path.replace(/\?.*$/, '');
      const route = routes.find(({ pattern }) => pattern.test(plainPath));
      const operation = route?.operations[method.toLowerCase()];
      if (operation === undefined) return null;
      const response = operation.responses[status] ?? operation.responses['default'];
      if (response === undefined || (status < 400 && operation.responses[status] === undefined))
        return `the status ${status} is not described`;
      const media = (type ?? '').replace(/;.*$/, '');
      const content = response.content?.[media];
      if (content === undefined) return `the media type ${media} is not described for ${status}`;
      if (media !== 'application/json') return null;
      const check = validate(content.schema);
      return check(JSON.parse(text)) ? null : ajv.errorsText(check.errors);
    },
  };
}
