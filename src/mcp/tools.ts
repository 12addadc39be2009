/**
 * The tools of the tool protocol [platform §8], derived from the operations: none is written by hand, so none is forgotten.
 * Operations that the contract excludes are left out by a rule, not by a list: data processing [platform §8], operations that
 * take a credential, and those that answer text instead of an object.
 */
import type { Capability } from '../api/capability.ts';
import { asInteger } from '../api/decimal.ts';
import { bodyObject, membersOf, plainSchema } from '../api/plain-schema.ts';

export interface Tool {
  readonly name: string;
  readonly capability: Capability;
  /** JSON Schema of the arguments: path parameters, query and body side by side. */
  readonly inputSchema: ToolSchema;
  readonly outputSchema: ToolSchema;
  readonly annotations: {
    readonly title: string;
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
}

interface ToolSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
  readonly additionalProperties: boolean;
  readonly [key: string]: unknown;
}

function isTool(capability: Capability): boolean {
  if (capability.name.startsWith('data_processing.')) return false;
  // Access rights are managed by people.
  if (capability.name.startsWith('identity.')) return false;
  return typeOf(capability.answer) === 'object';
}

export function toolsOf(operations: readonly Capability[], allowWrite: boolean): Tool[] {
  return operations
    .filter((capability) => isTool(capability) && (allowWrite || capability.kind === 'query'))
    .map(toolOf);
}

/** Assistants take letters, digits, `_` and `-` only. */
export function toolName(capability: Capability): string {
  return capability.name.replaceAll('.', '_');
}

function toolOf(capability: Capability): Tool {
  const isQuery = capability.kind === 'query';
  return {
    name: toolName(capability),
    capability,
    inputSchema: inputSchema(capability),
    outputSchema: plainSchema(capability.answer) as ToolSchema,
    annotations: {
      title: capability.summary,
      readOnlyHint: isQuery,
      // Irreversible operations, and those that move equipment.
      destructiveHint: !isQuery && (capability.risk === 'high' || capability.risk === 'critical'),
      idempotentHint: capability.idempotent,
      openWorldHint: false,
    },
  };
}

function inputSchema(capability: Capability): ToolSchema {
  const body = bodyObject(capability.body);
  const texts = [capability.params, capability.query].map(membersOf);
  const properties: Record<string, object> = {};
  const required: string[] = [];
  for (const members of texts) {
    for (const [name, schema] of Object.entries(members.properties)) properties[name] = textOrNumber(schema);
    required.push(...members.required);
  }
  if (body !== null) {
    const members = membersOf(body);
    Object.assign(properties, members.properties);
    required.push(...members.required);
  }
  if (capability.confirmation === 'always') {
    properties['confirmed'] = {
      const: true,
      description: 'true confirms that the person in charge wants exactly this; never set it on your own',
    };
    if (!required.includes('confirmed')) required.push('confirmed');
  }
  return { type: 'object', properties, required, additionalProperties: false };
}

/** Numbers arrive as digits in a path or query; an assistant may give them as numbers. A list of types is not taken by all of them. */
function textOrNumber(schema: object): object {
  const integer = asInteger(schema);
  if (integer === null) return schema;
  return {
    anyOf: [{ type: 'string' }, integer],
    description: 'description' in schema ? schema.description : undefined,
  };
}

function typeOf(schema: unknown): unknown {
  return typeof schema === 'object' && schema !== null && 'type' in schema ? schema.type : undefined;
}
