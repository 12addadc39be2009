/**
 * A template of rules [rules §13]: a rule with parameters for its points and its numbers, instantiated many times. Pure: arguments in, the
 * content of a rule out.
 */
import type { PointKind, PointRef } from '../../site/catalogue.ts';
import type { RuleTest } from '../rule-test.ts';

export interface PointParameter {
  readonly name: string;
  readonly about: string;
  readonly point_type: PointKind;
  /** Null takes any. */
  readonly unit: string | null;
}

export interface NumberParameter {
  readonly name: string;
  readonly about: string;
  /** Null where it is not known. */
  readonly unit: string | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly default: number;
}

export interface TemplateContent {
  readonly description: string | null;
  readonly priority: number;
  readonly cooldown_ms: number;
  readonly trigger_config: object | null;
  readonly flow_json: object;
  readonly tests: readonly RuleTest[];
}

export type PointArguments = Readonly<Record<string, PointRef>>;
export type NumberArguments = Readonly<Record<string, number>>;

/** The argument of each parameter; all are present. */
export interface Arguments {
  readonly point: (name: string) => PointRef;
  readonly number: (name: string) => number;
}

export interface RuleTemplate {
  /** A key of the package's templates; `rule:<id>` for a rule that is used as one. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** Grows when the same arguments make another rule. */
  readonly version: number;
  readonly points: readonly PointParameter[];
  readonly numbers: readonly NumberParameter[];
  /** Pairs of numbers, such as the ends of a band: the first must not exceed the second. */
  readonly ascending: readonly (readonly [string, string])[];
  readonly content: (given: Arguments) => TemplateContent;
}

/** Kept in the instance's document beside its nodes: where it came from, and with what. */
export interface TemplateOrigin {
  readonly template: string;
  readonly version: number;
  readonly points: PointArguments;
  readonly numbers: NumberArguments;
}

/** The rule that the arguments make, with its origin in the document. Every parameter has an argument; numbers that are absent have their default. */
export function instantiate(template: RuleTemplate, points: PointArguments, numbers: NumberArguments): TemplateContent {
  const all: NumberArguments = Object.fromEntries(
    template.numbers.map(({ name, default: usual }) => [name, numbers[name] ?? usual]),
  );
  const content = template.content({
    point: (name) => argumentOf(points, name),
    number: (name) => argumentOf(all, name),
  });
  const from_template: TemplateOrigin = { template: template.name, version: template.version, points, numbers: all };
  return { ...content, flow_json: { ...content.flow_json, from_template } };
}

function argumentOf<T>(given: Readonly<Record<string, T>>, name: string): T {
  const value = given[name];
  if (value === undefined) throw new Error(`the template has no parameter ${name}`);
  return value;
}
