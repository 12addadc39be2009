/**
 * Device templates [points §1.1]: a channel and its points with parameters, so that an instance of site.yaml names a device
 * and not its registers. Pure: text to a template, template and parameters to the text of a site file.
 */
import Type, { type Static } from 'typebox';
import { strict } from '../base/schema.ts';
import { readYaml, YamlError } from '../base/yaml.ts';

const templateName = Type.String({
  pattern: '^[a-z0-9][a-z0-9-]{0,63}$',
  description: '1 to 64 letters a-z, digits and -, the first a letter or digit',
});
const parameter = strict({
  type: Type.Enum(['text', 'integer', 'number']),
  default: Type.Optional(Type.Union([Type.String(), Type.Number()])),
  unit: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
});
/** Consecutive words from a register on: whole numbers, or one value of a type. */
const words = Type.Union([
  Type.Integer({ minimum: 0, maximum: 65_535 }),
  Type.Array(Type.Integer({ minimum: 0, maximum: 65_535 })),
  Type.Record(Type.String(), Type.Union([Type.Number(), Type.String()])),
]);
const wordsByRegister = Type.Optional(Type.Record(Type.String({ pattern: '^[0-9]{1,5}$' }), words));
const registers = strict({
  holding: wordsByRegister,
  input: wordsByRegister,
  coil: wordsByRegister,
  discrete: wordsByRegister,
});
const valuesByName = Type.Record(Type.String(), Type.Union([Type.Number(), Type.String(), Type.Null()]));
const selfTest = strict({
  parameters: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]))),
  /** The contents of the device: registers, SunSpec models, or messages by topic. */
  given: strict({
    registers: Type.Optional(registers),
    models: Type.Optional(
      Type.Array(
        strict({
          model: Type.Integer(),
          values: Type.Record(Type.String(), Type.Union([Type.Number(), Type.String()])),
          repetitions: Type.Optional(Type.Integer({ minimum: 0 })),
        }),
      ),
    ),
    messages: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
  /** Commands, by point. */
  write: Type.Optional(Type.Record(Type.String(), Type.Number())),
  /** The expected values of the points, by name; null for a value that the device does not have. */
  then: valuesByName,
  /** The expected contents of the device afterwards, or the published messages. */
  held: Type.Optional(
    strict({
      registers: Type.Optional(registers),
      messages: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    }),
  ),
});

const templateSchema = strict({
  schema: Type.Literal('svc.device-template.v1'),
  name: templateName,
  title: Type.String({ minLength: 1, maxLength: 128 }),
  /** The vendor document to check the registers against. */
  source: Type.String({ minLength: 1, maxLength: 512 }),
  parameters: Type.Record(Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' }), parameter),
  channel: Type.Object({ driver: Type.String() }),
  points: Type.Array(Type.Object({ name: Type.String() }), { minItems: 1 }),
  self_test: Type.Array(selfTest, { minItems: 1 }),
});

export type DeviceTemplate = Static<typeof templateSchema>;
export type DeviceSelfTest = Static<typeof selfTest>;
export type RegisterWords = Static<typeof words>;
/** By name. */
export type DeviceTemplates = Pick<ReadonlyMap<string, DeviceTemplate>, 'get' | 'values'>;

/** Throws a YamlError with one line per fault. */
export function readDeviceTemplate(text: string, fileName: string): DeviceTemplate {
  const template = readYaml(text, fileName, templateSchema);
  const wrong = Object.entries(template.parameters).flatMap(([name, { type, default: given }]) =>
    given === undefined || isOfType(given, type) ? [] : [`${fileName}:1: /parameters/${name}/default is no ${type}`],
  );
  if (wrong.length > 0) throw new YamlError(wrong);
  return template;
}

type Given = Readonly<Record<string, string | number>>;

export interface FilledTemplate {
  /** Settings of the channel, without its id. */
  readonly channel: Readonly<Record<string, unknown>>;
  /** Points as in site.yaml, without their channel. */
  readonly points: readonly Readonly<Record<string, unknown>>[];
}

/** The template with its parameters inserted, or an error in those: member and reason. */
export function fillTemplate(
  template: DeviceTemplate,
  given: Given,
): FilledTemplate | { readonly faults: readonly (readonly [member: string, reason: string])[] } {
  const faults: [string, string][] = [];
  const values = new Map<string, string | number>();
  for (const name of Object.keys(given))
    if (!Object.hasOwn(template.parameters, name)) {
      const known = Object.keys(template.parameters).join(', ');
      faults.push([name, `template ${template.name} has no parameter ${name}; it has ${known}`]);
    }
  for (const [name, { type, default: otherwise }] of Object.entries(template.parameters)) {
    const value = given[name] ?? otherwise;
    if (value === undefined) faults.push([name, `template ${template.name} needs the parameter ${name} (${type})`]);
    else if (!isOfType(value, type))
      faults.push([name, `must be ${type === 'integer' ? 'a whole number' : `a ${type}`}`]);
    else values.set(name, value);
  }
  if (faults.length > 0) return { faults };
  const fill = (node: unknown): unknown => filled(node, values);
  return {
    channel: fill(template.channel) as FilledTemplate['channel'],
    points: template.points.map((point) => fill(point) as FilledTemplate['points'][number]),
  };
}

function isOfType(value: string | number, type: Static<typeof parameter>['type']): boolean {
  if (type === 'text') return typeof value === 'string';
  return typeof value === 'number' && Number.isFinite(value) && (type === 'number' || Number.isInteger(value));
}

const alone = /^\$\{([a-z][a-z0-9_]*)\}$/;
const within = /\$\{([a-z][a-z0-9_]*)\}/g;

/** `${name}` alone is the parameter's value; inside other text it is inserted as text. */
function filled(node: unknown, values: ReadonlyMap<string, string | number>): unknown {
  if (typeof node === 'string') {
    const value = values.get(alone.exec(node)?.[1] ?? '');
    return value ?? node.replaceAll(within, (text, name: string) => String(values.get(name) ?? text));
  }
  if (Array.isArray(node)) return node.map((each) => filled(each, values));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, filled(value, values)]));
}
