/**
 * The content of execution nodes: reading one node's members from JSON, in the grammar that the native dialect's
 * `config` and the compact form (`nodes_json`) share [rules §4.7].
 */
import type { PointKind, SiteCatalogue } from '../site/catalogue.ts';
import { isTimeZone, type Period } from '../site/local-time.ts';
import { type ExpressionNode, isVariableName, type ParsedExpression } from './expression/parse.ts';
import type { Reader } from './issues.ts';
import type { FlowLimits } from './limits.ts';
import type { Assignment, Branch, ParameterRead, VariableRead, Write } from './node/parts.ts';
import { settled, withinPoint } from './step.ts';

/** The context of content readers in addition to the reader. */
export interface ContentContext {
  readonly catalogue: SiteCatalogue;
  readonly limits: FlowLimits;
}

const idMaximum = 4_294_967_295;
const ageMsMaximum = 86_400_000;
const expressionHint = 'an expression uses numbers, variables, + - * / % ^, comparisons, && || !, ? : and functions';

export function readVariables(reader: Reader, context: ContentContext, required: boolean): VariableRead[] {
  return reader.list('variables', context.limits.listMaximum, required).flatMap((entry) => {
    entry.onlyKnown(['name', 'instance', 'point_type', 'point', 'max_age_ms']);
    const name = readName(entry, 'name');
    const ref = readPoint(entry, context, 'read');
    const maxAgeMs = entry.has('max_age_ms') ? entry.integer('max_age_ms', 1, ageMsMaximum) : undefined;
    if (name === undefined || ref === undefined) return [];
    return [{ name, ...ref, ...(maxAgeMs === undefined ? {} : { max_age_ms: maxAgeMs }) }];
  });
}

export function readParameters(reader: Reader, context: ContentContext): ParameterRead[] {
  return reader.list('parameters', context.limits.listMaximum, false).flatMap((entry) => {
    entry.onlyKnown(['name', 'parameter']);
    const name = readName(entry, 'name');
    const parameter = entry.text('parameter', context.limits.nameLengthMaximum);
    if (parameter !== undefined && context.catalogue.parameter(parameter) === undefined) {
      entry.fault(
        'unknown-parameter',
        'parameter',
        `the site has no parameter '${parameter}'`,
        'add it to `parameters` of site.yaml and reload',
      );
    }
    return name === undefined || parameter === undefined ? [] : [{ name, parameter }];
  });
}

export interface ReadBranches {
  readonly branches: Branch[];
  /** Outputs that a wire may name, including a branch with an invalid condition. */
  readonly outputs: readonly string[];
}

export function readBranches(reader: Reader, context: ContentContext): ReadBranches {
  const names: string[] = [];
  const branches = reader.list('branches', context.limits.listMaximum, true).flatMap((entry): Branch[] => {
    entry.onlyKnown(['name', 'when']);
    const name = readBranchName(entry, context);
    const when = readExpression(entry, 'when');
    if (name !== undefined) names.push(name);
    return name === undefined || when === undefined ? [] : [entry.placed({ name, when }, 'when')];
  });
  noteDuplicates(reader, 'branches', names, 'duplicate-branch');
  return { branches, outputs: [...names, 'else'] };
}

/** A name that is too long still matches its wires. */
export function readBranchName(entry: Reader, context: ContentContext): string | undefined {
  entry.text('name', context.limits.nameLengthMaximum);
  const name = entry.get('name');
  if (name === 'else' || name === '__proto__')
    entry.fault('reserved-name', 'name', `'${name}' cannot name a branch`, 'give the branch another name');
  return typeof name === 'string' ? name : undefined;
}

export function readAssignments(reader: Reader, context: ContentContext, required: boolean): Assignment[] {
  return reader.list('assignments', context.limits.listMaximum, required).flatMap((entry) => {
    entry.onlyKnown(['name', 'expression']);
    const name = readName(entry, 'name');
    const expression = readExpression(entry, 'expression');
    return name === undefined || expression === undefined ? [] : [entry.placed({ name, expression }, 'expression')];
  });
}

export function readWrites(reader: Reader, context: ContentContext, required: boolean): Write[] {
  return reader.list('writes', context.limits.listMaximum, required).flatMap((entry) => {
    entry.onlyKnown(['instance', 'point_type', 'point', 'value']);
    const ref = readPoint(entry, context, 'write');
    const value = typeof entry.get('value') === 'number' ? readConstant(entry) : readExpression(entry, 'value');
    if (ref === undefined || value === undefined) return [];
    checkConstant(entry, 'value', value, ref, context);
    return [entry.placed({ ...ref, value }, 'value')];
  });
}

export function readTimezone(reader: Reader): string | undefined {
  const timezone = reader.has('timezone') ? reader.text('timezone', 64) : undefined;
  if (timezone !== undefined && !isTimeZone(timezone)) {
    reader.fault(
      'unknown-timezone',
      'timezone',
      `'${timezone}' is not an IANA time zone`,
      'for example Europe/Amsterdam',
    );
  }
  return timezone;
}

export function readPeriod(reader: Reader, field: string): Period | undefined {
  const period = reader.get(field);
  if (period === 'daily' || period === 'weekly' || period === 'monthly' || period === 'quarterly') return period;
  reader.fault('invalid-field', field, `'${field}' must be daily, weekly, monthly or quarterly`, 'for example daily');
  return undefined;
}

export function readName(reader: Reader, field: string): string | undefined {
  const name = reader.get(field);
  if (typeof name === 'string' && isVariableName(name)) return name;
  const hint = 'letters, digits and underscores, a letter first, at most 128, and not the name of a function';
  reader.fault('invalid-name', field, `'${field}' must be a variable name`, hint);
  return undefined;
}

function readExpression(reader: Reader, field: string): string | undefined {
  const text = reader.get(field);
  if (typeof text !== 'string') {
    reader.fault('invalid-field', field, `'${field}' must be an expression in a text`, expressionHint);
    return undefined;
  }
  return checkExpression(reader, field, text) ? text : undefined;
}

export function checkExpression(reader: Reader, field: string, text: string): boolean {
  const parsed = reader.issues.formulas.of(text);
  if (parsed.ok) return true;
  reader.fault(
    parsed.issue.code,
    field,
    `at character ${parsed.issue.at + 1}: ${parsed.issue.message}`,
    expressionHint,
  );
  return false;
}

interface Ref {
  readonly instance: number;
  readonly point_type: PointKind;
  readonly point: number;
}

function readPoint(reader: Reader, context: ContentContext, use: 'read' | 'write'): Ref | undefined {
  const instance = reader.integer('instance', 0, idMaximum);
  const point = reader.integer('point', 0, idMaximum);
  const given = reader.get('point_type');
  const pointType = given === undefined && use === 'write' ? 'action' : given;
  if (pointType !== 'measurement' && pointType !== 'action') {
    reader.fault(
      'invalid-field',
      'point_type',
      "'point_type' must be measurement or action",
      'for example measurement',
    );
    return undefined;
  }
  if (instance === undefined || point === undefined) return undefined;
  const ref: Ref = { instance, point_type: pointType, point };
  return checkPoint(reader, '', ref, context, use) ? ref : undefined;
}

/** Reports a point that the site does not have, or that may not be written. */
export function checkPoint(
  reader: Reader,
  field: string,
  ref: Ref,
  context: ContentContext,
  use: 'read' | 'write',
): boolean {
  const facts = context.catalogue.point(ref);
  if (facts === undefined) {
    const message = `the site has no ${ref.point_type} point ${ref.point} of instance ${ref.instance}`;
    reader.fault('unknown-point', field, message, 'GET /api/instances lists the points');
    return false;
  }
  if (use === 'write' && !facts.writable) {
    const message = `${ref.point_type} point ${ref.point} of instance ${ref.instance} cannot be written`;
    reader.fault('not-writable', field, message, 'write an action point, or a measurement point of a virtual channel');
    return false;
  }
  return true;
}

/** Reports a number outside the point's range, also one written as an expression: "150", "-(7)". */
export function checkConstant(
  reader: Reader,
  field: string,
  written: number | string,
  ref: Ref,
  context: ContentContext,
): void {
  const facts = context.catalogue.point(ref);
  const value = typeof written === 'number' ? written : constantOf(reader.issues.formulas.of(written));
  if (facts === undefined || value === undefined) return;
  if (settled(value, facts) !== null) return;
  const { min, max, step } = facts;
  const range = `${min ?? '-∞'} to ${max ?? '∞'} ${facts.unit}`;
  reader.fault(
    'out-of-range',
    field,
    withinPoint(value, facts)
      ? `no multiple of ${step ?? 1} near ${value} lies in ${range}`
      : `${value} is outside ${range}`,
    'choose a value within the range of the point',
  );
}

function constantOf(parsed: ParsedExpression): number | undefined {
  return parsed.ok ? literalOf(parsed.expression.root) : undefined;
}

function literalOf(node: ExpressionNode): number | undefined {
  if (node.kind === 'number') return node.value;
  if (node.kind !== 'unary' || node.operator !== '-') return undefined;
  const value = literalOf(node.operand);
  return value === undefined ? undefined : -value;
}

function readConstant(reader: Reader): number | undefined {
  const value = reader.get('value');
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  reader.fault('invalid-field', 'value', "'value' must be a finite number or an expression", 'for example 5');
  return undefined;
}

export function noteDuplicates(reader: Reader, field: string, names: readonly string[], code: string): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) reader.fault(code, field, `duplicate '${name}' in '${field}'`, 'give each its own name');
    seen.add(name);
  }
}
