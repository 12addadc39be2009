/**
 * The second dialect [rules §4.3]: nodes of type `custom` whose `data.type` names a function block. Each node
 * carries its own variables; they become the node's reads and formulas, so both dialects give one topology.
 */
import type { PointKind } from '../site/catalogue.ts';
import type { Formulas } from './expression/parse.ts';
import type { ParsedNode } from './graph.ts';
import type { Issue } from './issues.ts';
import { isFields, pointerPart, type Reader } from './issues.ts';
import { outputNames, type TopologyNode } from './node/index.ts';
import type { Assignment, Branch, VariableRead, Write } from './node/parts.ts';
import {
  type ContentContext,
  checkConstant,
  checkExpression,
  checkPoint,
  noteDuplicates,
  readBranchName,
  readName,
  readPeriod,
  readTimezone,
} from './node-content.ts';
import { readWires } from './parse-wires.ts';

const customTypes = [
  'start',
  'end',
  'function-switch',
  'action-changeValue',
  'action-calculation',
  'action-periodDelta',
] as const;
type CustomType = (typeof customTypes)[number];

export function readCustomNode(
  id: string,
  reader: Reader,
  context: ContentContext,
  warnings: Issue[],
): ParsedNode | undefined {
  const data = reader.inner('data');
  if (data === undefined) return undefined;
  const type = customTypes.find((known) => known === data.get('type'));
  if (type === undefined) {
    data.fault('unknown-node-type', 'type', 'unknown block type', `known block types are ${customTypes.join(', ')}`);
    return undefined;
  }
  if (type === 'end' && !data.has('config')) {
    return { id, node: { type, wires: {} }, path: reader.path, contentPath: `${reader.path}/data/config` };
  }
  const config = data.inner('config');
  if (config === undefined) return undefined;
  const node = readBlock(type, config, context);
  if (node === undefined) return undefined;
  warnings.push(...untakenWires(config, node));
  return { id, node, path: reader.path, contentPath: config.path };
}

function readBlock(type: CustomType, config: Reader, context: ContentContext): TopologyNode | undefined {
  const { limits } = context;
  switch (type) {
    case 'start':
      config.onlyKnown(['wires']);
      return { type, wires: readWires(config, limits, ['default'], 'ignore') };
    case 'end':
      config.onlyKnown(['wires']);
      return { type, wires: readWires(config, limits, [], 'ignore') };
    case 'function-switch':
      return readSwitch(config, context);
    case 'action-changeValue':
      return readChange(config, context);
    case 'action-calculation':
      return readCalculation(config, context);
    case 'action-periodDelta':
      return readDelta(config, context);
  }
}

/** The declared variables of one block. */
interface Declared {
  readonly reads: readonly VariableRead[];
  readonly formulas: readonly Assignment[];
  /** Also of variables that were refused. */
  readonly names: ReadonlySet<string>;
}

function readDeclared(config: Reader, context: ContentContext): Declared {
  const reads: VariableRead[] = [];
  const formulas: Assignment[] = [];
  const names = new Set<string>();
  const passed = ['instance_name', 'point_name', 'unit', 'id', 'label', 'description'];
  for (const entry of config.list('variables', context.limits.listMaximum, false)) {
    const given = readName(entry, 'name');
    // Here, because a variable that is only written is not in the topology, where names are compared again.
    const twice = given !== undefined && names.has(given);
    if (twice)
      entry.fault('duplicate-variable', 'name', `variable '${given}' is declared twice`, 'give each its own name');
    if (given !== undefined) names.add(given);
    const name = twice ? undefined : given;
    const type = entry.get('type');
    if (type === 'single') {
      entry.onlyKnown(['name', 'type', 'instance', 'instance_id', 'pointType', 'point_id', 'point', ...passed]);
      const read = readSingle(entry, context);
      if (name !== undefined && read !== undefined) reads.push({ name, ...read });
    } else if (type === 'combined') {
      entry.onlyKnown(['name', 'type', 'formula', ...passed]);
      const expression = readFormula(entry, 'formula');
      if (name !== undefined && expression !== undefined) formulas.push(entry.placed({ name, expression }, 'formula'));
    } else entry.fault('invalid-field', 'type', "'type' must be single or combined", 'single names a point');
  }
  return { reads, formulas, names };
}

const pointTypes = new Map<unknown, PointKind>([
  ['measurement', 'measurement'],
  ['M', 'measurement'],
  ['action', 'action'],
  ['A', 'action'],
]);

function readSingle(entry: Reader, context: ContentContext): Omit<VariableRead, 'name'> | undefined {
  const instance = readEither(entry, 'instance', 'instance_id');
  const point = readEither(entry, 'point', 'point_id');
  const pointType = pointTypes.get(entry.get('pointType'));
  if (pointType === undefined)
    entry.fault(
      'invalid-field',
      'pointType',
      "'pointType' must be measurement (M) or action (A)",
      'for example measurement',
    );
  if (instance === undefined || point === undefined || pointType === undefined) return undefined;
  const ref = { instance, point_type: pointType, point };
  return checkPoint(entry, '', ref, context, 'read') ? ref : undefined;
}

/** One number under either of two names; under both it must be equal, otherwise one of them is a mistake. */
function readEither(entry: Reader, name: string, other: string): number | undefined {
  if (entry.has(name) && entry.has(other) && entry.get(name) !== entry.get(other))
    entry.fault('invalid-field', other, `'${name}' and '${other}' differ`, 'leave one of them out');
  return entry.integer(entry.has(name) ? name : other, 0, 4_294_967_295);
}

/** A formula is one text, or a list of tokens: texts, numbers, or objects {type, value}. */
function readFormula(reader: Reader, field: string): string | undefined {
  const value = reader.get(field);
  const tokens = (Array.isArray(value) ? value : [value]).map(tokenText);
  if (tokens.length === 0 || tokens.some((token) => token === undefined)) {
    reader.fault(
      'invalid-field',
      field,
      `'${field}' must be an expression, or a list of its tokens`,
      'for example ["x", "*", 2]',
    );
    return undefined;
  }
  const text = tokens.join(' ');
  return checkExpression(reader, field, text) ? text : undefined;
}

function tokenText(token: unknown): string | undefined {
  if (typeof token === 'string') return token;
  // In parentheses, because a negative token is one operand: of -5 and ^ 2 the square is 25.
  if (typeof token === 'number' && Number.isFinite(token)) return token < 0 ? `(${token})` : String(token);
  return isFields(token) && Object.hasOwn(token, 'value') && !isFields(token.value)
    ? tokenText(token.value)
    : undefined;
}

const operators = new Map<unknown, string>([
  ['==', '=='],
  ['=', '=='],
  ['!=', '!='],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
]);

function readSwitch(config: Reader, context: ContentContext): TopologyNode {
  config.onlyKnown(['variables', 'rule', 'wires']);
  const declared = readDeclared(config, context);
  const names: string[] = [];
  const branches = config.list('rule', context.limits.listMaximum, true).flatMap((entry): Branch[] => {
    entry.onlyKnown(['name', 'type', 'rule', 'id', 'label', 'description']);
    const name = readBranchName(entry, context);
    if (entry.get('type') !== 'default')
      entry.fault('invalid-field', 'type', "'type' of a branch must be default", 'write "type": "default"');
    if (name !== undefined) names.push(name);
    const when = readConditions(entry, context);
    return name === undefined || when === undefined ? [] : [entry.placed({ name, when }, 'rule')];
  });
  noteDuplicates(config, 'rule', names, 'duplicate-branch');
  const outputs = [...names, 'else'];
  const wires = readWires(config, context.limits, outputs, 'ignore');
  return { type: 'switch', ...prelude(declared), branches, wires };
}

/** Conditions and relations in turn: c1 && c2 || c3, with the expression language's precedence. */
function readConditions(entry: Reader, context: ContentContext): string | undefined {
  const parts = entry.list('rule', context.limits.listMaximum, true);
  const texts = parts.map((part, index) => {
    const wanted = index % 2 === 0 ? 'variable' : 'relation';
    if (part.get('type') !== wanted) {
      part.fault('invalid-field', 'type', `a ${wanted} is expected here`, 'conditions and relations take turns');
      return undefined;
    }
    return wanted === 'variable' ? readCondition(part) : readRelation(part);
  });
  if (texts.length === 0 || texts.some((text) => text === undefined)) return undefined;
  if (texts.length % 2 === 0) {
    const message = 'a condition is expected after the last relation';
    entry.fault('invalid-field', 'rule', message, 'remove the last relation');
    return undefined;
  }
  const text = texts.join(' ');
  return checkExpression(entry, 'rule', text) ? text : undefined;
}

function readCondition(part: Reader): string | undefined {
  part.onlyKnown(['type', 'variables', 'operator', 'value', 'id', 'label', 'description']);
  const name = readName(part, 'variables');
  const operator = operators.get(part.get('operator'));
  if (operator === undefined)
    part.fault(
      'unknown-operator',
      'operator',
      'unknown operator',
      `known operators are ${[...operators.keys()].join(', ')}`,
    );
  const value = readOperand(part, 'value');
  return name === undefined || operator === undefined || value === undefined
    ? undefined
    : `${name} ${operator} ${value}`;
}

function readRelation(part: Reader): string | undefined {
  part.onlyKnown(['type', 'value', 'id', 'label', 'description']);
  const value = part.get('value');
  if (value === '&&' || value === '||') return value;
  part.fault('unknown-relation', 'value', 'unknown relation', 'a relation is && or ||');
  return undefined;
}

/** A number, a number in a text, or an expression over the block's variables, in parentheses where it needs them. */
function readOperand(part: Reader, field: string): string | undefined {
  const value = part.get(field);
  if (typeof value === 'number' && Number.isFinite(value)) return value < 0 ? `(${value})` : String(value);
  if (typeof value !== 'string' || !checkExpression(part, field, value)) {
    if (typeof value !== 'string')
      part.fault('invalid-field', field, `'${field}' must be a number, a variable or an expression`, 'for example 5');
    return undefined;
  }
  return /^[A-Za-z0-9_.]+$/.test(value) ? value : `(${value})`;
}

function readChange(config: Reader, context: ContentContext): TopologyNode {
  config.onlyKnown(['variables', 'rule', 'wires']);
  const declared = readDeclared(config, context);
  const written = new Set<string>();
  const writes = config.list('rule', context.limits.listMaximum, true).flatMap((entry): Write[] => {
    entry.onlyKnown(['Variables', 'value', 'id', 'label', 'description']);
    const target = entry.get('Variables');
    const read = declared.reads.find(({ name }) => name === target);
    if (read !== undefined) {
      written.add(read.name);
      return writeOf(entry, read, context);
    }
    const refused = typeof target === 'string' && declared.names.has(target);
    if (!refused || declared.formulas.some(({ name }) => name === target)) {
      const hint = 'declare it in config.variables with type single';
      entry.fault('undeclared-variable', 'Variables', 'no point variable of this node has that name', hint);
    }
    return [];
  });
  const values = writes.map(({ value }) => value);
  const reads = readsThatCount(config.issues.formulas, declared, written, values, declared.formulas);
  const wires = readWires(config, context.limits, ['default'], 'ignore');
  return { type: 'change', ...prelude({ ...declared, reads }), writes, wires };
}

const numberPattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

function writeOf(entry: Reader, target: VariableRead, context: ContentContext): Write[] {
  const ref = { instance: target.instance, point_type: target.point_type, point: target.point };
  if (!checkPoint(entry, 'Variables', ref, context, 'write')) return [];
  const given = entry.get('value');
  const numeric = typeof given === 'string' && numberPattern.test(given.trim()) ? Number(given) : given;
  if (typeof numeric === 'number' && Number.isFinite(numeric)) {
    checkConstant(entry, 'value', numeric, ref, context);
    return [entry.placed({ ...ref, value: numeric }, 'value')];
  }
  const value = readFormula(entry, 'value');
  if (value === undefined) return [];
  checkConstant(entry, 'value', value, ref, context);
  return [entry.placed({ ...ref, value }, 'value')];
}

function readCalculation(config: Reader, context: ContentContext): TopologyNode {
  config.onlyKnown(['variables', 'rule', 'wires']);
  const declared = readDeclared(config, context);
  const results: Assignment[] = [];
  const writes: Write[] = [];
  const written = new Set<string>();
  config.list('rule', context.limits.listMaximum, true).forEach((entry, index) => {
    entry.onlyKnown(['output', 'formula', 'id', 'label', 'description']);
    const output = readName(entry, 'output');
    const expression = readFormula(entry, 'formula');
    if (output === undefined || expression === undefined) return;
    const target = declared.reads.find(({ name }) => name === output);
    if (target === undefined) {
      results.push(entry.placed({ name: output, expression }, 'formula'));
      return;
    }
    // The computed value has a name of its own: the output's name still means the point's live value.
    const ref = { instance: target.instance, point_type: target.point_type, point: target.point };
    if (!checkPoint(entry, 'output', ref, context, 'write')) return;
    checkConstant(entry, 'formula', expression, ref, context);
    const result = resultName(output, `_result_${index}`);
    written.add(output);
    results.push(entry.placed({ name: result, expression }, 'formula'));
    writes.push(entry.placed({ ...ref, value: result }, 'output'));
  });
  const reads = readsThatCount(config.issues.formulas, declared, written, [], [...declared.formulas, ...results]);
  return {
    type: 'calculation',
    ...(reads.length === 0 ? {} : { variables: reads }),
    assignments: [...declared.formulas, ...results],
    ...(writes.length === 0 ? {} : { writes }),
    wires: readWires(config, context.limits, ['default'], 'ignore'),
  };
}

function readDelta(config: Reader, context: ContentContext): TopologyNode | undefined {
  config.onlyKnown(['variables', 'input', 'output', 'period', 'timezone', 'wires']);
  const declared = readDeclared(config, context);
  if (declared.formulas.length > 0)
    config.fault(
      'invalid-field',
      'variables',
      'a period delta takes point variables only',
      'compute the input in a calculation before it',
    );
  const input = readName(config, 'input');
  const output = readName(config, 'output');
  const period = readPeriod(config, 'period');
  const timezone = readTimezone(config);
  const wires = readWires(config, context.limits, ['default'], 'ignore');
  if (input === undefined || output === undefined || period === undefined) return undefined;
  const target = declared.reads.find(({ name }) => name === output);
  const name = target === undefined ? output : resultName(output, '_result');
  const reads = declared.reads.filter((read) => read !== target || read.name === input);
  const writes =
    target !== undefined && checkPoint(config, 'output', target, context, 'write')
      ? [
          config.placed(
            { instance: target.instance, point_type: target.point_type, point: target.point, value: name },
            'output',
          ),
        ]
      : [];
  return {
    type: 'period-delta',
    ...(reads.length === 0 ? {} : { variables: reads }),
    input,
    period,
    name,
    ...(timezone === undefined ? {} : { timezone }),
    ...(writes.length === 0 ? {} : { writes }),
    wires,
  };
}

function prelude(declared: Declared): { variables?: readonly VariableRead[]; assignments?: readonly Assignment[] } {
  return {
    ...(declared.reads.length === 0 ? {} : { variables: declared.reads }),
    ...(declared.formulas.length === 0 ? {} : { assignments: declared.formulas }),
  };
}

/** A name next to the point's own: `output` is truncated if both would be too long, so that they stay distinct. */
function resultName(output: string, suffix: string): string {
  return `${output.slice(0, 128 - suffix.length)}${suffix}`;
}

/** A variable that is only written is not read: its live value must not be able to stop the write. */
function readsThatCount(
  parser: Formulas,
  declared: Declared,
  written: ReadonlySet<string>,
  values: readonly (number | string)[],
  formulas: readonly Assignment[],
): VariableRead[] {
  const texts = [...values, ...formulas.map(({ expression }) => expression)].filter(
    (value) => typeof value === 'string',
  );
  const used = new Set(
    texts.flatMap((text) => {
      const parsed = parser.of(text);
      return parsed.ok ? parsed.expression.variables : [];
    }),
  );
  return declared.reads.filter(({ name }) => used.has(name) || !written.has(name));
}

/** Wires of outputs that the block does not have; the editor leaves some behind when a branch is removed. */
function untakenWires(config: Reader, node: TopologyNode): Issue[] {
  const wires = config.get('wires');
  const known = new Set(outputNames(node));
  return Object.entries(isFields(wires) ? wires : {})
    .filter(([output, targets]) => !known.has(output) && Array.isArray(targets) && targets.length > 0)
    .map(([output]) => ({
      code: 'wire-without-branch',
      path: `${config.path}/wires/${pointerPart(output)}`,
      message: `wire '${output}' belongs to no branch; it is never taken`,
      ...(config.nodeId === undefined ? {} : { node_id: config.nodeId }),
      hint: 'remove it, or name a branch like it',
    }));
}
