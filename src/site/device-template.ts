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
type Settings = Readonly<Record<string, unknown>>;
type Values = ReadonlyMap<string, string | number>;

/** Errors of an instance: the member, and the reason. */
interface Faulty {
  readonly faults: readonly (readonly [member: string, reason: string])[];
}

export interface FilledTemplate {
  /** Settings of the channel, without its id. */
  readonly channel: Settings;
  /** Points as in site.yaml, without their channel. */
  readonly points: readonly Settings[];
}

/** The template with its parameters inserted, for a device with a channel of its own. */
export function fillTemplate(template: DeviceTemplate, given: Given): FilledTemplate | Faulty {
  const values = valuesOf(template, given, () => true);
  if ('faults' in values) return values;
  return { channel: filled(template.channel, values) as Settings, points: filledPoints(template, values) };
}

/** A channel of the site that several devices share. */
export interface SharedChannel {
  readonly id: string;
  readonly driver: string;
  /** Settings that a point may override. */
  readonly ofPoints: readonly string[];
  readonly settings: Settings;
}

/**
 * The template for a channel of the site. The result's `channel` has only the settings that its points override, such as the unit
 * of a Modbus device; not those that depend on a parameter that is not given. All others are those of the site's channel.
 */
export function fillForChannel(template: DeviceTemplate, given: Given, shared: SharedChannel): FilledTemplate | Faulty {
  if (template.channel.driver !== shared.driver) {
    const reason = `template ${template.name} is for a ${template.channel.driver} channel; ${shared.id} is ${shared.driver}`;
    return { faults: [['channel', reason]] };
  }
  const inPoints = parametersIn(template.points);
  const values = valuesOf(template, given, (name) => inPoints.has(name));
  if ('faults' in values) return values;
  const faults: [string, string][] = [];
  const channel: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(template.channel)) {
    const parameters = [...parametersIn(text)];
    const value = filled(text, values);
    if (shared.ofPoints.includes(name)) {
      if (parameters.every((parameter) => Object.hasOwn(given, parameter))) channel[name] = value;
    } else if (JSON.stringify(value) !== JSON.stringify(shared.settings[name]))
      for (const parameter of parameters.filter((each) => Object.hasOwn(given, each)))
        faults.push([
          `parameters/${parameter}`,
          `${given[parameter]} is not the ${name} of channel ${shared.id}: omit ${parameter}, or omit channel so that the device gets its own`,
        ]);
  }
  return faults.length > 0 ? { faults } : { channel, points: filledPoints(template, values) };
}

/** Given values and defaults, or the errors in them; only `needed` parameters are required. */
function valuesOf(template: DeviceTemplate, given: Given, needed: (name: string) => boolean): Values | Faulty {
  const faults: [string, string][] = [];
  const values = new Map<string, string | number>();
  for (const name of Object.keys(given))
    if (!Object.hasOwn(template.parameters, name)) {
      const known = Object.keys(template.parameters).join(', ');
      faults.push([`parameters/${name}`, `template ${template.name} has no parameter ${name}; it has ${known}`]);
    }
  for (const [name, { type, default: otherwise }] of Object.entries(template.parameters)) {
    const value = given[name] ?? otherwise;
    const fault = (reason: string): void => void faults.push([`parameters/${name}`, reason]);
    if (value === undefined) {
      if (needed(name)) fault(`template ${template.name} needs the parameter ${name} (${type})`);
    } else if (!isOfType(value, type)) fault(`must be ${type === 'integer' ? 'a whole number' : `a ${type}`}`);
    else values.set(name, value);
  }
  return faults.length > 0 ? { faults } : values;
}

function filledPoints({ points }: DeviceTemplate, values: Values): readonly Settings[] {
  return points.map((point) => filled(point, values) as Settings);
}

function isOfType(value: string | number, type: Static<typeof parameter>['type']): boolean {
  if (type === 'text') return typeof value === 'string';
  return typeof value === 'number' && Number.isFinite(value) && (type === 'number' || Number.isInteger(value));
}

const alone = /^\$\{([a-z][a-z0-9_]*)\}$/;
const within = /\$\{([a-z][a-z0-9_]*)\}/g;

/** `${name}` alone is the parameter's value; inside other text it is inserted as text. */
function filled(node: unknown, values: Values): unknown {
  if (typeof node === 'string') {
    const value = values.get(alone.exec(node)?.[1] ?? '');
    return value ?? node.replaceAll(within, (text, name: string) => String(values.get(name) ?? text));
  }
  if (Array.isArray(node)) return node.map((each) => filled(each, values));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, filled(value, values)]));
}

/** The names of the parameters in a part of a template. */
function parametersIn(node: unknown): ReadonlySet<string> {
  return new Set([...JSON.stringify(node).matchAll(within)].map(([, name = '']) => name));
}
