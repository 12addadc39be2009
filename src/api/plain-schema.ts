/** Schemas as the wire knows them: plain JSON Schema, for the API description and the tools. */
import type { TSchema } from 'typebox';

export type PlainSchema = Readonly<Record<string, unknown>>;

export interface SchemaMembers {
  readonly properties: Readonly<Record<string, PlainSchema>>;
  readonly required: readonly string[];
}

/** Without the library's own marks. */
export function plainSchema(schema: TSchema): PlainSchema {
  return JSON.parse(JSON.stringify(schema)) as PlainSchema;
}

/** The members of an object's schema; none for any other. */
export function membersOf(schema: TSchema): SchemaMembers {
  const { properties = {}, required = [] } = plainSchema(schema) as Partial<SchemaMembers>;
  return { properties, required };
}

/** The schema of the object in a body; a body that may be left out is a union with nothing. */
export function bodyObject(body: TSchema | null): TSchema | null {
  if (body === null) return null;
  const members: readonly unknown[] = 'anyOf' in body && Array.isArray(body.anyOf) ? body.anyOf : [body];
  return members.find(isObjectSchema) ?? null;
}

function isObjectSchema(schema: unknown): schema is TSchema {
  return typeof schema === 'object' && schema !== null && 'type' in schema && schema.type === 'object';
}
