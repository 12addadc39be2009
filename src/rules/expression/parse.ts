/**
 * The one expression language of rules [rules §5.1]: text to tree, by recursive descent. Doubles only, no
 * strings, no property access, nothing evaluated while parsing. Precedence from loose to tight:
 * `?:`, `||`, `&&`, comparisons, `+ -`, `* / %`, unary `- !`, `^` (to the right; -2^2 is -4).
 */
import { didYouMean, nearestName } from '../../base/nearest-name.ts';
import { type FunctionName, functionTable, isFunctionName } from './function-table.ts';

/** Maximum length of an expression in characters, and maximum nesting of operators and parentheses. */
export const expressionLimits = { lengthMaximum: 4096, depthMaximum: 64 } as const;

export type BinaryOperator = '+' | '-' | '*' | '/' | '%' | '^' | '==' | '!=' | '<' | '<=' | '>' | '>=' | '&&' | '||';

export type ExpressionNode =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'unary'; readonly operator: '-' | '!'; readonly operand: ExpressionNode }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: ExpressionNode;
      readonly right: ExpressionNode;
    }
  | {
      readonly kind: 'choice';
      readonly condition: ExpressionNode;
      readonly then: ExpressionNode;
      readonly otherwise: ExpressionNode;
    }
  | { readonly kind: 'call'; readonly name: FunctionName; readonly args: readonly ExpressionNode[] };

interface Expression {
  readonly text: string;
  readonly root: ExpressionNode;
  /** Names it reads, in order of first use. */
  readonly variables: readonly string[];
  /** Total number of samples in its windows. */
  readonly windowSamples: number;
}

interface ExpressionIssue {
  readonly code:
    | 'expression-syntax'
    | 'unknown-function'
    | 'unknown-operator'
    | 'expression-too-long'
    | 'expression-too-deep';
  readonly message: string;
  /** Character position from 0. */
  readonly at: number;
}

export type ParsedExpression =
  | { readonly ok: true; readonly expression: Expression }
  | { readonly ok: false; readonly issue: ExpressionIssue };

interface Token {
  readonly kind: 'number' | 'name' | 'symbol' | 'end';
  readonly text: string;
  readonly at: number;
}

/** Carries the first issue out of the descent; never leaves this file. */
class ParseStop extends Error {
  readonly issue: ExpressionIssue;
  constructor(code: ExpressionIssue['code'], message: string, at: number) {
    super(message);
    this.issue = { code, message, at };
  }
}

export function parseExpression(text: string): ParsedExpression {
  if (text.length > expressionLimits.lengthMaximum) {
    const message = `the expression has ${text.length} characters; at most ${expressionLimits.lengthMaximum} are allowed`;
    return { ok: false, issue: { code: 'expression-too-long', message, at: expressionLimits.lengthMaximum } };
  }
  try {
    const descent = new Descent(tokenize(text));
    const root = descent.whole();
    const variables = Array.from(variablesOf(root, new Set()));
    return { ok: true, expression: { text, root, variables, windowSamples: descent.windowSamples } };
  } catch (error) {
    if (error instanceof ParseStop) return { ok: false, issue: error.issue };
    throw error;
  }
}

/** True for a name that an expression can read: not a function, letters first. */
export function isVariableName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name) && !isFunctionName(name) && name !== '__proto__';
}

const numberPattern = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const namePattern = /[A-Za-z_][A-Za-z0-9_]*/y;
const doubleSymbols = new Set(['&&', '||', '==', '!=', '<=', '>=']);
const singleSymbols = '-+*/%^<>!?:(),';

/** The type of token that a character starts: computed once for the characters of the language, all below 128. */
const beginnings: readonly ('space' | 'number' | 'name' | 'symbol' | null)[] = Array.from(
  { length: 128 },
  (_, code) => {
    const character = String.fromCharCode(code);
    if (/\s/.test(character)) return 'space';
    if (/[0-9.]/.test(character)) return 'number';
    if (/[A-Za-z_]/.test(character)) return 'name';
    return /[-+*/%^<>!?:(),&|=]/.test(character) ? 'symbol' : null;
  },
);

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    const kind = (code < 128 ? beginnings[code] : /\s/.test(text.charAt(at)) ? 'space' : null) ?? null;
    if (kind === 'space') {
      at++;
      continue;
    }
    const word = kind === 'symbol' ? symbolAt(text, at) : kind === null ? '' : wordAt(text, at, kind);
    if (word === '' || kind === null) throw unreadable(text, at);
    tokens.push({ kind, text: word, at });
    at += word.length;
  }
  tokens.push({ kind: 'end', text: 'the end', at: text.length });
  return tokens;
}

function symbolAt(text: string, at: number): string {
  const pair = text.slice(at, at + 2);
  if (doubleSymbols.has(pair)) return pair;
  return singleSymbols.includes(text.charAt(at)) ? text.charAt(at) : '';
}

function wordAt(text: string, at: number, kind: 'number' | 'name'): string {
  const pattern = kind === 'number' ? numberPattern : namePattern;
  pattern.lastIndex = at;
  return pattern.test(text) ? text.slice(at, pattern.lastIndex) : '';
}

function unreadable(text: string, from: number): ParseStop {
  const at = from + (text.slice(from).length - text.slice(from).trimStart().length);
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  const hint =
    character === '='
      ? "; compare with '=='"
      : character === '&' || character === '|'
        ? `; write '${character}${character}'`
        : '';
  return new ParseStop('unknown-operator', `'${character}' is not part of the language${hint}`, at);
}

/** Words that are operators in other languages. Here they are names, and a variable may have them. */
const wordOperators = new Map([
  ['and', '&&'],
  ['or', '||'],
  ['not', '!'],
]);

function wordOperator({ text, at }: Token): ParseStop | undefined {
  const symbol = wordOperators.get(text.toLowerCase());
  return symbol === undefined
    ? undefined
    : new ParseStop('unknown-operator', `'${text}' is not an operator; write '${symbol}'`, at);
}

const comparisons = new Set<string>(['==', '!=', '<', '<=', '>', '>=']);

class Descent {
  readonly #tokens: readonly Token[];
  #position = 0;
  #depth = 0;
  #windowSamples = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get windowSamples(): number {
    return this.#windowSamples;
  }

  whole(): ExpressionNode {
    const root = this.#choice();
    const rest = this.#peek();
    if (rest.kind !== 'end') throw this.#unexpected(`an operator is expected before '${rest.text}'`);
    return root;
  }

  /** The token at which parsing fails, or such a word before it or there. */
  #unexpected(message: string): ParseStop {
    const token = this.#peek();
    const before = this.#tokens[this.#position - 1];
    const word = wordOperator(token) ?? (before === undefined ? undefined : wordOperator(before));
    return word ?? new ParseStop('expression-syntax', message, token.at);
  }

  #peek(): Token {
    const token = this.#tokens[this.#position];
    if (token === undefined) throw new Error('read past the end token');
    return token;
  }

  #take(symbol: string): boolean {
    const token = this.#peek();
    if (token.kind !== 'symbol' || token.text !== symbol) return false;
    this.#position++;
    return true;
  }

  #expect(symbol: string): void {
    if (this.#take(symbol)) return;
    throw this.#unexpected(`'${symbol}' is expected instead of ${shown(this.#peek())}`);
  }

  #nested<T>(inner: () => T): T {
    if (++this.#depth > expressionLimits.depthMaximum) {
      const message = `nested deeper than ${expressionLimits.depthMaximum} levels; split it into assignments of a calculation node`;
      throw new ParseStop('expression-too-deep', message, this.#peek().at);
    }
    const result = inner();
    this.#depth--;
    return result;
  }

  #choice(): ExpressionNode {
    return this.#nested(() => {
      const condition = this.#leftAssociative(0);
      if (!this.#take('?')) return condition;
      const then = this.#choice();
      this.#expect(':');
      return { kind: 'choice', condition, then, otherwise: this.#choice() };
    });
  }

  /** Levels 0 `||`, 1 `&&`, 2 comparisons, 3 `+ -`, 4 `* / %`. */
  #leftAssociative(level: number): ExpressionNode {
    if (level === 5) return this.#unary();
    let left = this.#leftAssociative(level + 1);
    for (let chained = 0; ; chained++) {
      const operator = this.#operatorOf(level);
      if (operator === undefined) return left;
      if (level === 2 && chained > 0) {
        const at = this.#peek().at;
        throw new ParseStop('expression-syntax', "comparisons cannot be chained; write 'a < b && b < c'", at);
      }
      this.#position++;
      left = { kind: 'binary', operator, left, right: this.#leftAssociative(level + 1) };
      if (chained >= expressionLimits.lengthMaximum) throw new Error('more operators than characters');
    }
  }

  #operatorOf(level: number): BinaryOperator | undefined {
    const { kind, text } = this.#peek();
    if (kind !== 'symbol') return undefined;
    if (level === 0) return text === '||' ? text : undefined;
    if (level === 1) return text === '&&' ? text : undefined;
    if (level === 2) return comparisons.has(text) ? (text as BinaryOperator) : undefined;
    if (level === 3) return text === '+' || text === '-' ? text : undefined;
    return text === '*' || text === '/' || text === '%' ? text : undefined;
  }

  #unary(): ExpressionNode {
    if (this.#take('-')) return this.#nested(() => ({ kind: 'unary', operator: '-', operand: this.#unary() }));
    if (this.#take('!')) return this.#nested(() => ({ kind: 'unary', operator: '!', operand: this.#unary() }));
    if (this.#take('+')) return this.#nested(() => this.#unary());
    return this.#power();
  }

  #power(): ExpressionNode {
    const base = this.#primary();
    if (!this.#take('^')) return base;
    return this.#nested(() => ({ kind: 'binary', operator: '^', left: base, right: this.#unary() }));
  }

  #primary(): ExpressionNode {
    const token = this.#peek();
    if (token.kind === 'number') return this.#number(token);
    if (token.kind === 'name') return this.#name(token);
    if (this.#take('(')) {
      const inner = this.#choice();
      this.#expect(')');
      return inner;
    }
    throw new ParseStop(
      'expression-syntax',
      `a number, variable or '(' is expected instead of ${shown(token)}`,
      token.at,
    );
  }

  #number(token: Token): ExpressionNode {
    this.#position++;
    const value = Number(token.text);
    if (!Number.isFinite(value))
      throw new ParseStop('expression-syntax', `${token.text} is too large for a number`, token.at);
    return { kind: 'number', value };
  }

  #name(token: Token): ExpressionNode {
    this.#position++;
    if (!this.#take('(')) {
      if (isVariableName(token.text)) return { kind: 'variable', name: token.text };
      throw new ParseStop('expression-syntax', `'${token.text}' is a function; call it as ${token.text}(…)`, token.at);
    }
    if (!isFunctionName(token.text)) {
      const word = wordOperator(token);
      if (word !== undefined) throw word;
      const known = Object.keys(functionTable);
      const meant = nearestName(token.text, known);
      const way = meant === undefined ? `known are ${known.join(', ')}` : didYouMean(meant);
      throw new ParseStop('unknown-function', `unknown function '${token.text}'; ${way}`, token.at);
    }
    const args = this.#arguments();
    this.#checkCall(token, token.text, args);
    return token.text === 'if' ? choiceOf(args) : { kind: 'call', name: token.text, args };
  }

  #arguments(): ExpressionNode[] {
    if (this.#take(')')) return [];
    const args = [this.#choice()];
    while (this.#take(',')) args.push(this.#choice());
    this.#expect(')');
    return args;
  }

  #checkCall(token: Token, name: FunctionName, args: readonly ExpressionNode[]): void {
    const { minimumArguments: least, maximumArguments: most } = functionTable[name];
    if (args.length < least || args.length > most) {
      const wanted = least === most ? `${least}` : `${least} to ${most}`;
      throw new ParseStop('expression-syntax', `${name} takes ${wanted} arguments, not ${args.length}`, token.at);
    }
    const window = args[1];
    if (
      name === 'moving_avg' &&
      !(window?.kind === 'number' && Number.isInteger(window.value) && window.value >= 1 && window.value <= 10_000)
    ) {
      throw new ParseStop(
        'expression-syntax',
        'moving_avg needs a whole number of samples, 1 to 10000, as its second argument',
        token.at,
      );
    }
    if (name === 'moving_avg' && window?.kind === 'number') this.#windowSamples += window.value;
    if (name === 'integrate' && window !== undefined && !(window.kind === 'number' && window.value > 0)) {
      throw new ParseStop(
        'expression-syntax',
        'integrate needs a number of seconds above 0 as its second argument',
        token.at,
      );
    }
  }
}

function choiceOf(args: readonly ExpressionNode[]): ExpressionNode {
  const [condition, then, otherwise] = args;
  if (condition === undefined || then === undefined || otherwise === undefined)
    throw new Error('if was checked to have three arguments');
  return { kind: 'choice', condition, then, otherwise };
}

function shown(token: Token): string {
  return token.kind === 'end' ? token.text : `'${token.text}'`;
}

function variablesOf(node: ExpressionNode, found: Set<string>): Set<string> {
  switch (node.kind) {
    case 'number':
      break;
    case 'variable':
      found.add(node.name);
      break;
    case 'unary':
      variablesOf(node.operand, found);
      break;
    case 'binary':
      variablesOf(node.left, found);
      variablesOf(node.right, found);
      break;
    case 'choice':
      variablesOf(node.condition, found);
      variablesOf(node.then, found);
      variablesOf(node.otherwise, found);
      break;
    case 'call':
      for (const argument of node.args) variablesOf(argument, found);
      break;
  }
  return found;
}

/** Expressions of one document: each text is parsed once for all its uses. */
export class Formulas {
  readonly #parsed = new Map<string, ParsedExpression>();

  of(text: string): ParsedExpression {
    let parsed = this.#parsed.get(text);
    if (parsed === undefined) {
      parsed = parseExpression(text);
      this.#parsed.set(text, parsed);
    }
    return parsed;
  }
}
